package binding

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/semaphore"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/binding/fanout"
)

// leftHub is a hub with some objects, in which reading a kind fails if answer has an error for it.
func leftHub(tb testing.TB, answers map[string]error, objects ...client.Object) *reconciler {
	tb.Helper()
	g := NewWithT(tb)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if err := answers[obj.GetObjectKind().GroupVersionKind().Kind]; err != nil {
				return err
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()
	e, _ := makeExpectations()
	return &reconciler{hubClient: hub, hubReader: hub, kind: kube.ResourceBindings(), prefix: "karmada-es-", expectations: e}
}

// carrying returns a stray with a ConfigMap.
func carrying(id string) *workv1alpha1.Work {
	w := strayOf(id, time.Unix(1000, 0))
	w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"settings"}}`),
	}}}
	return w
}

func TestStrayWaitsWhileTemplateMayGetBinding(t *testing.T) {
	t.Parallel()
	configMaps := schema.GroupResource{Resource: "configmaps"}
	template := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"}}
	workload := func(needs ...string) *workv1alpha2.ResourceBinding {
		b := bindingOf("of-web")
		b.Name = "requirer"
		refs := []map[string]string{}
		for _, kind := range needs {
			refs = append(refs, map[string]string{"apiVersion": "v1", "kind": kind, "namespace": "shop", "name": "settings"})
		}
		text, _ := json.Marshal(refs) //nolint:errchkjson // strings can always be encoded
		b.Annotations = map[string]string{contract.DependenciesAnnotation: string(text)}
		return b
	}
	was := workv1alpha2.ResourceBindingSpec{
		Resource:   workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"},
		RequiredBy: []workv1alpha2.BindingSnapshot{{Namespace: "shop", Name: "requirer"}},
	}
	for name, c := range map[string]struct {
		answer error
		there  []client.Object
		many   bool
		want   fate
	}{
		"the template is gone":                                   {want: strayGoes, there: []client.Object{workload("ConfigMap")}},
		"the kind is not served":                                 {want: strayWaits, answer: apierrors.NewGenericServerResponse(http.StatusNotFound, "get", configMaps, "", "404 page not found", 0, true)},
		"the kind is not known":                                  {want: strayWaits, answer: &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "ConfigMap"}}},
		"a workload needs the template":                          {want: strayWaits, there: []client.Object{template, workload("ConfigMap")}},
		"the workload needs another object now":                  {want: strayGoes, there: []client.Object{template, workload("Secret")}},
		"the workload is gone":                                   {want: strayGoes, there: []client.Object{template}},
		"an unnamed workload needs the template":                 {want: strayWaits, there: []client.Object{template}, many: true},
		"an unnamed workload needed the template, which is gone": {want: strayGoes, many: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := leftHub(t, map[string]error{"ConfigMap": c.answer}, c.there...)
			b := bindingOf("1")
			was.DeepCopyInto(&b.Spec)
			if c.many {
				b.Spec.RequiredBy = append(b.Spec.RequiredBy, workv1alpha2.BindingSnapshot{Namespace: "shop"})
			}
			r.strays.gone.add(b)
			got, err := r.fateOf(t.Context(), nil, r.strays.gone.find("1"), carrying("1"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(c.want))
		})
	}
}

func TestMissingBindingIsNotSeenDeleted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := leftHub(t, nil)
	r.onGone().Delete(t.Context(), event.DeleteEvent{Object: bindingOf("missing"), DeleteStateUnknown: true}, nil)
	r.onGone().Delete(t.Context(), event.DeleteEvent{Object: bindingOf("gone")}, nil)
	going := bindingOf("going")
	deleting(going)
	r.onGone().Delete(t.Context(), event.DeleteEvent{Object: going, DeleteStateUnknown: true}, nil)
	g.Expect(r.strays.gone.find("missing")).To(BeNil())
	g.Expect(r.strays.gone.find("gone")).NotTo(BeNil())
	g.Expect(r.strays.gone.find("going")).NotTo(BeNil())
}

func TestDeletedWorkIsNoStray(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := leftHub(t, nil)
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	r.strays.add(boundTo, fanout.Key(strayOf("1", time.Time{})))
	r.onWork().Delete(t.Context(), event.DeleteEvent{Object: strayOf("1", time.Time{})}, q)
	g.Expect(r.strays.works).To(BeEmpty(), "a standby hub handles no strays")
}

func TestWorksWithoutBindingAreLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var said []string
		ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(_, args string) { said = append(said, args) }, funcr.Options{}))
		bound := strayOf("2", time.Time{})
		bound.Name = "bound"
		r := leftHub(t, nil, strayOf("1", time.Time{}), bound)
		g.Expect(r.noteStray(ctx, bound)).To(BeFalse())
		g.Expect(r.noteStray(ctx, strayOf("1", time.Time{}))).To(BeFalse())
		g.Expect(r.hubClient.Create(ctx, bindingOf("2"))).To(Succeed())
		time.Sleep(logLeftAfter)
		synctest.Wait()
		g.Expect(said).To(HaveExactElements(SatisfyAll(ContainSubstring(`"count"=1`),
			ContainSubstring("kubectl annotate work -n karmada-es-a web fairlead.dev/deletion-intent=removed && kubectl delete work -n karmada-es-a web"))))
		g.Expect(r.noteStray(ctx, strayOf("1", time.Time{}))).To(BeFalse())
		time.Sleep(2 * logLeftAfter)
		synctest.Wait()
		g.Expect(said).To(HaveLen(1))
		g.Expect(strings.Contains(said[0], "bound")).To(BeFalse(), "a Work whose binding appears later is not logged")
		g.Expect(r.strays.works).To(BeEmpty())
	})
}

// TestWaitingToRenderHoldsNoSharedRoom renders several bindings at once with slow renderings.
func TestWaitingToRenderHoldsNoSharedRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		all, answered := semaphore.NewWeighted(maxWriting), make(chan struct{})
		ofOne := func() *manifests {
			return &manifests{all: all, own: semaphore.NewWeighted(maxWritingOne), turn: semaphore.NewWeighted(1), dropped: map[string]dropped{"karmada-es-a": {size: 1 << 20}}, again: func(context.Context, workv1alpha2.TargetCluster) (*workv1alpha1.Work, error) {
				<-answered
				return version("", "h"), nil
			}}
		}
		ready := func(*workv1alpha1.Work) error { return nil }
		for range maxWriting / maxWritingOne {
			m := ofOne()
			for range maxWritingOne >> 20 {
				go func() { g.Expect(m.whole(t.Context(), version("", "h"), ready)).To(Succeed()) }()
			}
		}
		synctest.Wait()
		g.Expect(all.TryAcquire(maxWriting/2)).To(BeTrue(), "each binding holds only the room of the Work that it renders")
		all.Release(maxWriting / 2)
		close(answered)
		synctest.Wait()
		g.Expect(all.TryAcquire(maxWriting)).To(BeTrue())
	})
}
