package execution

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// TestAGenerationThatARestoredHubGivesOutAgainIsLookedAt covers a hub that was restored from a backup of some minutes
// ago and re-rendered its Works before the agent reconnects and relists: a Work may have the generation that the
// agent knows, with another spec. The lease does not reveal the restore, since it was not written in between.
func TestAGenerationThatARestoredHubGivesOutAgainIsLookedAt(t *testing.T) {
	t.Parallel()
	of := func(change func(*workv1alpha1.Work)) *workv1alpha1.Work {
		work := &workv1alpha1.Work{}
		work.Namespace, work.Name, work.UID, work.Generation = ownWorks, "settings", "1", 3
		work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"data":{"a":"1"}}`)}}}
		change(work)
		return work
	}
	for name, tc := range map[string]struct {
		change func(*workv1alpha1.Work)
		looks  bool
	}{
		"other content":         {func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests[0].Raw = []byte(`{"data":{"a":"2"}}`) }, true},
		"fewer objects":         {func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests = nil }, true},
		"it is suspended":       {func(work *workv1alpha1.Work) { work.Spec.SuspendDispatching = new(true) }, true},
		"its objects stay":      {func(work *workv1alpha1.Work) { work.Spec.PreserveResourcesOnDeletion = new(true) }, true},
		"what the agent writes": {func(work *workv1alpha1.Work) { work.Status.ObservedGeneration, work.Finalizers = 3, []string{"ours"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := &Reconciler{works: newWorks(nil, nil), queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())}
			defer r.queue.ShutDown()
			r.works.hubSynced = true
			r.workHandler().OnUpdate(of(func(*workv1alpha1.Work) {}), of(tc.change))
			g.Expect(r.queue.Len() == 1).To(Equal(tc.looks))
		})
	}
}

func TestAGenerationThatDroppedAnObjectIsAnother(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m, name := newMemory(), types.NamespacedName{Namespace: ownWorks, Name: "settings"}
	a, b := plan.ObjectOf(settings("1")), plan.ObjectOf(settings("1"))
	b.Name = "others"
	m.Begin(name, 3, []plan.Object{a, b})
	fresh, _ := m.Begin(name, 3, []plan.Object{a, b})
	g.Expect(fresh).To(BeFalse())
	fresh, dropped := m.Begin(name, 3, []plan.Object{a})
	g.Expect(fresh).To(BeTrue())
	g.Expect(dropped).To(BeTrue())
}
