package execution

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/agent/execution/plan"
)

// settings is an object of the member in some version.
func settings(version string) *unstructured.Unstructured {
	obj := prototype(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	obj.SetNamespace("shop")
	obj.SetName("settings")
	obj.SetUID("settings")
	obj.SetResourceVersion(version)
	return obj
}

// TestAnObjectThatVanishedUnseenIsAskedFor covers an object that vanished while the watch was down, after the agent
// had read a later version than the informer's: the version at which it vanished is unknown.
func TestAnObjectThatVanishedUnseenIsAskedFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &Reconciler{memory: newMemory(), pendingDeletions: newPendingDeletions(), unclaimed: newUnclaimed(), namespace: ownWorks}
	name := plan.ObjectOf(settings(""))
	r.memory.Begin(types.NamespacedName{Namespace: ownWorks, Name: "settings"}, 1, []plan.Object{name})
	r.memory.Put(name, plan.NewRecord(plan.Digest{1}, settings("7"), time.Unix(0, 0)))
	r.memberHandler().OnDelete(toolscache.DeletedFinalStateUnknown{Key: "shop/settings", Obj: settings("5")})
	g.Expect(r.memory.IsStale(name)).To(BeTrue())
}

// TestAnObjectThatNoInformerShowsIsLookedForAgain covers an applied object that the informer does not show: its
// record counts for a while only, after which the object is read again.
func TestAnObjectThatNoInformerShowsIsLookedForAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	work := workWith(t, "settings", inShop("settings", "", ""))
	m, name := plan.Parse(work)[0], types.NamespacedName{Namespace: ownWorks, Name: "settings"}
	other := settings("3")
	other.SetName("other")
	kinds := showing(t, other)
	synced := make(chan struct{})
	close(synced)
	kinds.known[m.Object.GroupVersionKind].synced, kinds.known[m.Object.GroupVersionKind].works = synced, map[types.NamespacedName]struct{}{}
	r := &Reconciler{
		memory: newMemory(), prerequisites: newPrerequisites(), kinds: kinds, clock: clock, namespace: ownWorks,
		memberClient: fakeClient(t, interceptor.Funcs{}), metrics: newMetrics(prometheus.NewRegistry()),
	}
	kinds.byWork[name] = map[schema.GroupVersionKind]struct{}{}
	r.memory.Begin(name, 1, []plan.Object{m.Object})
	r.memory.Put(m.Object, plan.NewRecord(m.Digest, settings("7"), clock.Now()))
	clock.Step(20 * time.Second)
	s := r.manifest(t.Context(), name, m)
	g.Expect(s.outcome.Result).To(Equal(plan.Applied))
	g.Expect(s.wait).To(Equal(40 * time.Second))
}
