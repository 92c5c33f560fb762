package binding

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// show passes a change of a Work to the handler, and returns the requests.
func show(t *testing.T, r *reconciler, before, after *workv1alpha1.Work) []string {
	t.Helper()
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	r.onWork().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
	woken := []string{}
	for q.Len() > 0 {
		req, _ := q.Get()
		woken = append(woken, req.String())
		q.Done(req)
	}
	return woken
}

func TestChangedWorkRequestsFormerBinding(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, _ := makeExpectations()
	r := &reconciler{kind: kube.ResourceBindings(), expectations: e}
	before, after := version("5", "h"), version("6", "h")
	before.Annotations[contract.ResourceBindingNamespaceAnnotation] = "shop"
	before.Annotations[contract.ResourceBindingNameAnnotation] = "web-deployment"
	after.Annotations = nil
	g.Expect(show(t, r, before, after)).To(Equal([]string{"shop/web-deployment"}), "the former binding is requested")
}

func TestWorksOfOtherBindingKindAreIgnored(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, _ := makeExpectations()
	r := &reconciler{kind: kube.ClusterResourceBindings(), expectations: e}
	before, after := version("5", "g"), version("6", "h")
	for _, w := range []*workv1alpha1.Work{before, after} {
		w.Annotations[contract.ResourceBindingNamespaceAnnotation] = "shop"
		w.Annotations[contract.ResourceBindingNameAnnotation] = "web-deployment"
	}
	after.Generation = before.Generation + 1
	g.Expect(show(t, r, before, after)).To(BeEmpty())
	g.Expect(e.suspect).To(BeEmpty())
}

func TestChangedMarkRequestsNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, _ := makeExpectations()
	r := &reconciler{kind: kube.ResourceBindings(), expectations: e}
	before, after := version("5", "h"), version("6", "h")
	for _, w := range []*workv1alpha1.Work{before, after} {
		w.Annotations[contract.ResourceBindingNamespaceAnnotation] = "shop"
		w.Annotations[contract.ResourceBindingNameAnnotation] = "web-deployment"
	}
	after.Annotations[contract.RenderedFromAnnotation] = "another"
	g.Expect(show(t, r, before, after)).To(BeEmpty())
	after.Annotations["theirs"] = "1"
	g.Expect(show(t, r, before, after)).To(Equal([]string{"shop/web-deployment"}))
}
