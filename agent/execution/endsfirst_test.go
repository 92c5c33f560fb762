package execution

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/eventsink"
)

// ended is an agent with Works that all are being deleted.
type ended struct {
	*Reconciler

	clock *clocktesting.FakeClock
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	// looks counts reconciles of Works, and notes holds the messages of events.
	looks int
	notes []string
}

// space is a Namespace.
func space(name string) client.Object {
	return &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// inSpace is a ConfigMap in it.
func inSpace(namespace string) client.Object {
	out := inShop("settings", "", "")
	out.Namespace, out.UID = namespace, types.UID(namespace+"-settings")
	return out
}

// newEnded returns an agent with one Work for each entry of works; all objects exist in the member.
func newEnded(t *testing.T, works map[string][]client.Object) *ended {
	t.Helper()
	g := NewWithT(t)
	var member, hub []client.Object
	for name, objects := range works {
		work := workWith(t, name, objects[0])
		work.UID, work.DeletionTimestamp, work.Finalizers = types.UID(name), new(metav1.Unix(100, 0)), []string{contract.ExecutionFinalizer}
		work.Annotations = map[string]string{contract.DeletionIntentAnnotation: contract.DeletionRemoved}
		work.Spec.Workload.Manifests = nil
		for _, object := range objects {
			work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workWith(t, name, object).Spec.Workload.Manifests...)
			live, ok := object.DeepCopyObject().(client.Object)
			g.Expect(ok).To(BeTrue())
			live.SetLabels(marks())
			live.SetAnnotations(markedBy(ownWorks, name))
			member = append(member, live)
		}
		hub = append(hub, work)
	}
	e := &ended{clock: clocktesting.NewFakeClock(time.Unix(1_000_000, 0))}
	hubClient, memberClient := fakeClient(t, interceptor.Funcs{}, hub...), fakeClient(t, interceptor.Funcs{}, member...)
	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
	e.queue = workqueue.NewTypedRateLimitingQueue(backoff)
	t.Cleanup(e.queue.ShutDown)
	e.Reconciler = &Reconciler{
		hubClient: hubClient, memberClient: memberClient, reader: memberClient, namespace: ownWorks, discovery: servedKinds{}, clock: e.clock,
		works: newWorks(hubClient, nil), kinds: newKinds(nil, nil, e.clock), memory: newMemory(), prerequisites: newPrerequisites(),
		pendingDeletions: newPendingDeletions(), brake: newBrake(false), waits: newWaits(), metrics: newMetrics(prometheus.NewRegistry()),
		stuckAfter: defaultStuckAfter, backoff: backoff, queue: e.queue,
		events: func(event eventsink.Event) { e.notes = append(e.notes, event.Reason+": "+event.Note) },
		namespacedKinds: func(context.Context) ([]schema.GroupVersionKind, error) {
			return []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap")}, nil
		},
	}
	return e
}

// look reconciles a Work, if the hub has it, then the Works that this enqueued, at most that many reconciles in all.
func (e *ended) look(t *testing.T, work string, most int) {
	t.Helper()
	g := NewWithT(t)
	e.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ownWorks, Name: work}})
	for ; e.queue.Len() > 0 && most > 0; most-- {
		req, _ := e.queue.Get()
		e.looks++
		live := &workv1alpha1.Work{}
		if err := e.hubClient.Get(t.Context(), req.NamespacedName, live); !apierrors.IsNotFound(err) {
			g.Expect(err).NotTo(HaveOccurred())
			if err := e.finish(t.Context(), live); err != nil {
				g.Expect(err).To(BeAssignableToTypeOf(&wantedError{}), "%v", err)
			}
		}
		e.queue.Done(req)
	}
}

// there returns whether the member has an object.
func (e *ended) there(t *testing.T, object client.Object) bool {
	t.Helper()
	live, ok := object.DeepCopyObject().(client.Object)
	NewWithT(t).Expect(ok).To(BeTrue())
	return e.memberClient.Get(t.Context(), client.ObjectKeyFromObject(object), live) == nil
}

// TestWorksThatWaitDoNotWakeEachOther has two Works wait whose Namespaces contain others' objects: they must not
// enqueue each other while nothing changes.
func TestWorksThatWaitDoNotWakeEachOther(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := newEnded(t, map[string][]client.Object{
		"around-a": {space("a")}, "inside-a": {inSpace("a")}, "around-b": {space("b")}, "inside-b": {inSpace("b")},
	})
	e.look(t, "around-a", 20)
	e.look(t, "around-b", 20)
	g.Expect(e.looks).To(Equal(2))

	e.look(t, "inside-a", 20)
	g.Expect(e.there(t, space("a"))).To(BeFalse(), "it is woken by what it waits for")
	g.Expect(e.there(t, space("b"))).To(BeTrue())
}

// TestWorksInEachOthersNamespaceEnd has two Works with an object in the other's Namespace: neither may wait until the
// other has ended entirely.
func TestWorksInEachOthersNamespaceEnd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := newEnded(t, map[string][]client.Object{"a": {space("a"), inSpace("b")}, "b": {space("b"), inSpace("a")}})
	e.look(t, "a", 20)
	g.Expect(e.there(t, space("a"))).To(BeTrue())
	g.Expect(e.there(t, inSpace("b"))).To(BeFalse())
	e.look(t, "b", 20)
	for _, object := range []client.Object{space("a"), inSpace("a"), space("b"), inSpace("b")} {
		g.Expect(e.there(t, object)).To(BeFalse())
	}
	left := &workv1alpha1.WorkList{}
	g.Expect(e.hubClient.List(t.Context(), left)).To(Succeed())
	g.Expect(left.Items).To(BeEmpty())
}

// TestPeopleAreToldOnceOfWhatIsNotDeletedFirst checks that the event is emitted once, and not for what waits for an
// operator's approval.
func TestPeopleAreToldOnceOfWhatIsNotDeletedFirst(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ first, held time.Duration }{
		"nothing is held":                  {},
		"held before it could wait":        {held: 40 * time.Second},
		"held when it has waited a moment": {first: 10 * time.Second, held: 40 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e := newEnded(t, map[string][]client.Object{"around": {space("shop")}, "inside": {inSpace("shop")}})
			wait := func(how time.Duration) {
				e.look(t, "around", 1)
				for end := e.clock.Now().Add(how); e.clock.Now().Before(end); {
					e.clock.Step(time.Second)
					e.look(t, "around", 1)
				}
			}
			if tc.first > 0 {
				wait(tc.first)
			}
			if tc.held > 0 {
				e.brake.held = &hold{names: []metav1.Time{metav1.NewTime(e.clock.Now())}}
				e.brake.limit = plan.Limit(nil)
				wait(tc.held)
				e.brake.held = nil
				e.brake.approved["around"] = 1
				e.look(t, "around", 1)
				g.Expect(e.notes).To(BeEmpty(), "what is in it has not had a moment to go")
			}
			wait(40 * time.Second)
			g.Expect(e.notes).To(HaveExactElements(And(
				HavePrefix("ContentsWanted: Namespace shop"), ContainSubstring("ConfigMap shop/settings of Work inside"))))
		})
	}
}
