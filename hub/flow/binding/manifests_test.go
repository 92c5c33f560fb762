package binding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/semaphore"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/flow/binding/fanout"
	"fairlead.dev/hub/flow/binding/render"
	"fairlead.dev/hub/flow/binding/storage"
	"fairlead.dev/test/builder"
)

// sized is a ConfigMap of a given size that goes to some of the clusters of a sizedHub.
type sized struct {
	name            string
	bytes, clusters int
}

// sizedHub returns a reconciler for ConfigMaps. The function create replaces the requests that create Works.
func sizedHub(tb testing.TB, create func(*workv1alpha1.Work), of ...sized) *reconciler {
	tb.Helper()
	g := NewWithT(tb)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	var targets []workv1alpha2.TargetCluster
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}}
	for i := range slices.MaxFunc(of, func(a, b sized) int { return a.clusters - b.clusters }).clusters {
		name := fmt.Sprintf("m%04d", i)
		targets = append(targets, workv1alpha2.TargetCluster{Name: name})
		objects = append(objects, builder.MakeCluster(name).Obj())
	}
	for _, o := range of {
		template := builder.MakeConfigMap("shop", o.name, "k", strings.Repeat("x", o.bytes)).Obj()
		b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: o.name, Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: "id-of-" + o.name},
		}}
		b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: o.name}
		b.Spec.Clusters = targets[:o.clusters]
		objects = append(objects, template, b)
	}
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
			if work, ok := obj.(*workv1alpha1.Work); ok {
				create(work)
			}
			return nil
		},
	}).Build()
	return &reconciler{
		hubClient: hub, hubReader: hub, kind: kube.ResourceBindings(), prefix: "karmada-es-", interpreter: native.New(), events: func(eventsink.Event) {},
		clock: clock.RealClock{}, contents: newContents(hub), expectations: newExpectations(clock.RealClock{}),
		paced: kube.NewPaced(clock.RealClock{}, markEvery), writing: semaphore.NewWeighted(maxWriting),
		slot: func(reconcile.Request) error { return nil },
	}
}

func requestOf(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}}
}

// TestKeptManifestsAreBounded checks that the memory for a binding does not grow with its clusters.
func TestKeptManifestsAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const clusters = 20
	for _, size := range []int{100, 1 << 10, 256 << 10, 2 << 20} {
		r := sizedHub(t, nil, sized{"settings", size, clusters})
		b := &workv1alpha2.ResourceBinding{}
		g.Expect(r.hubClient.Get(t.Context(), requestOf("settings").NamespacedName, b)).To(Succeed())
		s, err := r.gather(t.Context(), "id-of-settings", b)
		g.Expect(err).NotTo(HaveOccurred())
		out, err := r.render(t.Context(), s, s.targets)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out.works).To(HaveLen(clusters))
		held, whole := 0, 0
		for _, w := range out.works {
			held += sizeOf(w)
			g.Expect(out.manifests.whole(t.Context(), w, func(again *workv1alpha1.Work) error {
				whole += sizeOf(again)
				g.Expect(again.Annotations).To(Equal(w.Annotations))
				return nil
			})).To(Succeed())
		}
		g.Expect(held).To(BeNumerically("<=", maxKept), "%d bytes", size)
		g.Expect(whole).To(BeNumerically(">", clusters*size))
		if whole < maxKept {
			g.Expect(held).To(Equal(whole), "small manifests are rendered once")
		}
	}
}

// TestWritesAreBoundedByBytes writes large and small bindings at once, with slow requests.
func TestWritesAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var mu sync.Mutex
		waiting, written := map[string][]chan struct{}{}, map[string]int{}
		bytes := map[string]int{}
		total, answered := 0, false
		create := func(work *workv1alpha1.Work) {
			name, size, answer := work.Annotations[contract.ResourceBindingNameAnnotation], sizeOf(work), make(chan struct{})
			mu.Lock()
			written[name]++
			bytes[name] += size
			total += size
			waiting[name] = append(waiting[name], answer)
			mu.Unlock()
			<-answer
			mu.Lock()
			bytes[name] -= size
			total -= size
			mu.Unlock()
		}
		const clusters = 16
		of := []sized{{"small", 1 << 10, clusters}, {"middling", 20 << 10, clusters}}
		for i := range 6 {
			of = append(of, sized{fmt.Sprintf("large%d", i), 1 << 20, clusters})
		}
		of[len(of)-1].bytes = 5 << 20 // more than the limit of one binding; it is written nevertheless, and the server decides about it
		r := sizedHub(t, create, of...)
		start := func(o sized) {
			go func() {
				_, err := r.Reconcile(t.Context(), requestOf(o.name))
				g.Expect(err).NotTo(HaveOccurred())
			}()
		}
		for _, o := range of[2:] {
			start(o)
		}
		synctest.Wait()
		const slack = 5 << 20 // the size of an object besides its data, and the largest object
		g.Expect(total).To(BeNumerically(">", maxWriting/2), "the writes use the limit")
		for _, o := range of[:2] {
			start(o)
		}
		for round := 0; !answered; round++ {
			synctest.Wait()
			mu.Lock()
			g.Expect(total).To(BeNumerically("<=", maxWriting+maxBatch*freeManifest+slack))
			for name, n := range bytes {
				g.Expect(n).To(BeNumerically("<=", maxWritingOne+slack), name)
			}
			if round == 0 {
				g.Expect(written["small"]).To(Equal(firstBatch), "small manifests do not wait")
			}
			answered = true
			for name, all := range waiting {
				for _, answer := range all {
					answered = false
					close(answer)
				}
				delete(waiting, name)
			}
			if round > 10 {
				g.Expect(written["middling"]).To(BeNumerically(">=", firstBatch), "large manifests get their turn")
			}
			mu.Unlock()
		}
		for _, o := range of {
			g.Expect(written).To(HaveKeyWithValue(o.name, clusters))
		}
	})
}

// TestWaitingWritesEndWithTheHub checks that nothing waits for room in a hub that stops.
func TestWaitingWritesEndWithTheHub(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, stop := context.WithCancel(t.Context())
	m := &manifests{all: semaphore.NewWeighted(1), own: semaphore.NewWeighted(maxWritingOne), turn: semaphore.NewWeighted(1), dropped: map[string]dropped{"karmada-es-a": {size: maxKept}}}
	stop()
	g.Expect(m.whole(ctx, version("", "h"), nil)).To(MatchError(context.Canceled))
	g.Expect(m.own.TryAcquire(maxWritingOne)).To(BeTrue())
}

// TestNoRoomIsRefusedWithoutRendering checks that a Work is rejected by its known size if its namespace has no room, since that is retried
// again and again.
func TestNoRoomIsRefusedWithoutRendering(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var written atomic.Int32
	r := sizedHub(t, func(*workv1alpha1.Work) { written.Add(1) }, sized{"settings", 600 << 10, 4})
	r.stored = storage.NewLedger(1 << 20)
	b := &workv1alpha2.ResourceBinding{}
	g.Expect(r.hubClient.Get(t.Context(), requestOf("settings").NamespacedName, b)).To(Succeed())
	s, err := r.gather(t.Context(), "id-of-settings", b)
	g.Expect(err).NotTo(HaveOccurred())
	out, err := r.render(t.Context(), s, s.targets)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.manifests.dropped).To(HaveLen(3))
	var again atomic.Int32
	renders := out.manifests.again
	out.manifests.again = func(ctx context.Context, target workv1alpha2.TargetCluster) (*workv1alpha1.Work, error) {
		again.Add(1)
		return renders(ctx, target)
	}
	// Existing Works are updated. None of them is counted yet, as after a start of the hub with a lower limit.
	plan := fanout.Plan{Create: out.works[:2]}
	for _, w := range out.works[2:] {
		live := w.DeepCopy()
		live.UID = types.UID(w.Namespace)
		plan.Update = append(plan.Update, fanout.Update{Live: live, Desired: w, Spec: true})
	}
	taken := out.works[0].DeepCopy()
	taken.UID = "another"
	r.stored.Put(taken)
	done := r.execute(t.Context(), "id-of-settings", plan, out.manifests)
	g.Expect(done.failures).To(HaveLen(4))
	for _, f := range done.failures {
		full := &storage.NoRoomError{}
		g.Expect(errors.As(f.err, &full)).To(BeTrue(), "%v", f.err)
		g.Expect(full.More).To(BeNumerically(">", 600<<10))
	}
	g.Expect(written.Load()).To(BeZero())
	g.Expect(again.Load()).To(BeZero())
}

// TestMissingRevisionAffectsOneCluster checks that the other clusters are written.
func TestMissingRevisionAffectsOneCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := &manifests{
		all: semaphore.NewWeighted(maxWriting), own: semaphore.NewWeighted(maxWritingOne), turn: semaphore.NewWeighted(1), dropped: map[string]dropped{"karmada-es-a": {size: maxKept}},
		again: func(context.Context, workv1alpha2.TargetCluster) (*workv1alpha1.Work, error) {
			return nil, render.ErrRevise
		},
	}
	err := m.whole(t.Context(), version("", "h"), nil)
	g.Expect(err).To(MatchError(render.ErrRevise))
	g.Expect(fatal(err)).To(BeFalse())
}
