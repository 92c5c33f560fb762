package rollout

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/stagetest"
)

// TestNothingIsMadeInANamespaceThatIsDeleted has a rollout go with its namespace before the binding that it is of.
func TestNothingIsMadeInANamespaceThatIsDeleted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running(t, 1, canaryThenRest())
	rollout := w.rollout(g)
	stagetest.Terminate(t, w.client, w.binding(g), w.template)
	g.Eventually(func() error {
		return w.client.Get(t.Context(), client.ObjectKeyFromObject(rollout), rollout)
	}, stagetest.Timeout, stagetest.Poll).Should(Satisfy(apierrors.IsNotFound))

	made := func() int {
		return len(slices.DeleteFunc(w.writes.requests(), func(of string) bool { return of != "POST stagedrollouts" && of != "POST secrets" }))
	}
	before := made()
	w.change(func(b *workv1alpha2.ResourceBinding) { b.Spec.Replicas = 2 })
	g.Consistently(made, stagetest.Quiet, stagetest.Poll).Should(Equal(before))
}

// TestANamespaceThatIsMadeAnewHasItsBindingsLookedAt has bindings be there before the cache shows their namespace.
func TestANamespaceThatIsMadeAnewHasItsBindingsLookedAt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	namespace := func(uid types.UID) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: uid}}
	}
	binding := func(namespace, name, strategy string) *workv1alpha2.ResourceBinding {
		b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if strategy != "" {
			b.Annotations = map[string]string{contract.RolloutStrategyAnnotation: strategy}
		}
		return b
	}
	going := namespace("1")
	going.DeletionTimestamp, going.Finalizers = new(metav1.Now()), []string{"test.fairlead.dev/held"}
	web := binding("shop", "web", "canary")
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(going, web, binding("shop", "plain", ""), binding("office", "web", "canary")).Build()
	r := &reconciler{hubClient: hub, hubReader: hub, kind: kube.ResourceBindings()}
	g.Expect(r.isTerminating(t.Context(), web)).To(BeTrue())
	g.Expect(r.isTerminating(t.Context(), binding("gone", "web", "canary"))).To(BeTrue())
	g.Expect(r.isTerminating(t.Context(), &workv1alpha2.ClusterResourceBinding{})).To(BeFalse())

	asked := func(tell func(queue)) []string {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer q.ShutDown()
		tell(q)
		var out []string
		for q.Len() > 0 {
			req, _ := q.Get()
			out = append(out, req.String())
			q.Done(req)
		}
		return out
	}
	on := r.onNamespace()
	g.Expect(asked(func(q queue) { on.Create(t.Context(), event.CreateEvent{Object: namespace("2")}, q) })).To(Equal([]string{"shop/web"}))
	g.Expect(asked(func(q queue) {
		on.Update(t.Context(), event.UpdateEvent{ObjectOld: going, ObjectNew: namespace("2")}, q)
	})).To(Equal([]string{"shop/web"}))
	g.Expect(asked(func(q queue) {
		on.Update(t.Context(), event.UpdateEvent{ObjectOld: namespace("1"), ObjectNew: going}, q)
	})).To(BeEmpty())
	g.Expect(asked(func(q queue) {
		on.Create(t.Context(), event.CreateEvent{Object: namespace("1"), IsInInitialList: true}, q)
	})).To(BeEmpty())
}
