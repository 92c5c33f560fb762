package scheduler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/quota"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/reserve"
	"fairlead.dev/test/builder"
)

// accounting is a scheduler without workers, whose cache is a fake that counts lists.
type accounting struct {
	*reconciler

	lists int
}

func newAccounting(tb testing.TB, bindings ...client.Object) *accounting {
	tb.Helper()
	scheme, err := kube.NewScheme()
	NewWithT(tb).Expect(err).NotTo(HaveOccurred())
	a := &accounting{}
	a.reconciler = &reconciler{
		hubReader: fake.NewClientBuilder().WithScheme(scheme).Build(), clock: testclock.NewFakePassiveClock(time.Unix(1000, 0)), kind: kube.ResourceBindings(), ledger: reserve.New(), assumed: map[types.NamespacedName]placement{}, accounts: map[string]*quota.Account{},
		hubClient: interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(bindings...).Build(), interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				a.lists++
				return c.List(ctx, list, opts...)
			},
		}),
	}
	return a
}

func using(name, amount string, replicas int32) *workv1alpha2.ResourceBinding {
	return &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 1},
		Spec: workv1alpha2.ResourceBindingSpec{
			ReplicaRequirements: &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}},
			Clusters:            []workv1alpha2.TargetCluster{{Name: "a", Replicas: replicas}},
		},
	}
}

// TestUsageOfANamespaceIsTheSumOfItsBindings plays many events and decisions, in the order in which a scheduler meets
// them, and compares what it knows with what it would add up.
func TestUsageOfANamespaceIsTheSumOfItsBindings(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(3, 4))
	r := newAccounting(t)
	cached := map[string]*workv1alpha2.ResourceBinding{}
	var written []*workv1alpha2.ResourceBinding // the cache does not show it yet
	_, err := r.accountOf(t.Context(), "shop")
	g.Expect(err).NotTo(HaveOccurred())
	for range 3000 {
		name := fmt.Sprint(random.IntN(8))
		b := cached[name]
		switch choice := random.IntN(10); {
		case b == nil:
			b = using(name, []string{"1", "250m"}[random.IntN(2)], int32(random.IntN(3)))
			cached[name] = b
			r.seen(b, b.Spec.Clusters)
		case choice == 0:
			delete(cached, name)
			r.forget(client.ObjectKeyFromObject(b))
			written = slices.DeleteFunc(written, func(w *workv1alpha2.ResourceBinding) bool { return w.Name == name })
		case choice < 5: // a decision, and its write
			if _, waits := r.assumed[client.ObjectKeyFromObject(b)]; waits {
				continue
			}
			next := b.DeepCopy()
			next.Spec.Clusters[0].Replicas, next.Generation = int32(random.IntN(5)), b.Generation+1
			next.Annotations = map[string]string{contract.AdmittedRequestsAnnotation: quota.Admit(&next.Spec)}
			r.assumed[client.ObjectKeyFromObject(b)] = placement{generation: b.Generation, targets: next.Spec.Clusters, admitted: next.Annotations[contract.AdmittedRequestsAnnotation]}
			r.count(b)
			written = append(written, next)
		case choice < 7: // its template asks for more
			if _, waits := r.assumed[client.ObjectKeyFromObject(b)]; waits {
				continue
			}
			next := b.DeepCopy()
			next.Generation++
			next.Spec.ReplicaRequirements.ResourceRequest[corev1.ResourceCPU] = resource.MustParse("2")
			cached[name] = next
			r.seen(next, next.Spec.Clusters)
		case len(written) > 0:
			cached[written[0].Name] = written[0]
			r.seen(written[0], written[0].Spec.Clusters)
			written = written[1:]
		}
		world := decide.World{Latest: r.latest}
		for _, other := range cached {
			world.Others = append(world.Others, other)
		}
		asks := using("asks", "1", 1)
		want := decide.UsedByOthers(asks, world)
		got := r.accounts["shop"].Others("asks")
		g.Expect(got).To(HaveLen(len(want)))
		for name, amount := range want {
			has := got[name]
			g.Expect(has.Cmp(amount)).To(Equal(0), "%s: %s instead of %s", name, has.String(), amount.String())
		}
	}
}

func TestANamespaceIsAddedUpOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var all []client.Object
	for i := range 50 {
		all = append(all, using(fmt.Sprintf("app-%d", i), "1", 1))
	}
	r := newAccounting(t, append(all, builder.MakeCluster("a").Obj())...)
	for range 10 {
		a, err := r.accountOf(t.Context(), "shop")
		g.Expect(err).NotTo(HaveOccurred())
		used := a.Others("app-0")[corev1.ResourceCPU]
		g.Expect(used.Value()).To(BeEquivalentTo(49))
	}
	g.Expect(r.lists).To(Equal(1))

	// A decision that was not written leaves what the cache says.
	key := client.ObjectKeyFromObject(all[1])
	r.assumed[key] = placement{generation: 1, targets: []workv1alpha2.TargetCluster{{Name: "a", Replicas: 9}}}
	r.count(using("app-1", "1", 1))
	used := r.accounts["shop"].Others("app-0")[corev1.ResourceCPU]
	g.Expect(used.Value()).To(BeEquivalentTo(57))
	r.undo(t.Context(), using("app-1", "1", 1), nil, decide.Decision{})
	used = r.accounts["shop"].Others("app-0")[corev1.ResourceCPU]
	g.Expect(used.Value()).To(BeEquivalentTo(49))
	g.Expect(r.lists).To(Equal(1))
}
