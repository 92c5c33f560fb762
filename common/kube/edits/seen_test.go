package edits_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/edits"
)

// seenWorld is a stage that waits for the detector, with a binding and its template.
type seenWorld struct {
	*WithT

	clock    *clocktesting.FakePassiveClock
	seen     *edits.Seen
	stage    *edits.Waiter
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
	req      reconcile.Request
	binding  *workv1alpha2.ResourceBinding
	template *metav1.PartialObjectMetadata
	asked    []string
}

func newSeenWorld(t *testing.T) *seenWorld {
	t.Helper()
	w := &seenWorld{
		WithT: NewWithT(t), clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)),
		queue:    workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()),
		template: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", Generation: 1}},
		binding: &workv1alpha2.ResourceBinding{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web-deployment", Annotations: map[string]string{}, Labels: map[string]string{contract.PropagationPolicyPermanentIDLabel: "p"},
			},
			Spec: workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}},
		},
	}
	t.Cleanup(w.queue.ShutDown)
	w.req = reconcile.Request{NamespacedName: w.key()}
	w.seen = edits.NewSeen(w.clock)
	w.seen.OnAsk(func(ref workv1alpha2.ObjectReference) { w.asked = append(w.asked, ref.Kind+" "+ref.Name) })
	w.stage = w.seen.Waiter()
	w.Expect(w.stage.Source().Start(t.Context(), w.queue)).To(Succeed())
	w.made()
	return w
}

func (w *seenWorld) key() types.NamespacedName { return client.ObjectKeyFromObject(w.binding) }

func (w *seenWorld) fingerprint() string { return bindings.Fingerprint(w.template) }

// made makes the cached binding match the current template.
func (w *seenWorld) made() {
	w.binding.Annotations[contract.TemplateFingerprintAnnotation] = bindings.MadeOf(w.template, "rules-1")
}

func (w *seenWorld) edit() { w.template.Generation++ }

// goesBy sets the rollout strategy of the cached binding.
func (w *seenWorld) goesBy(strategy string) {
	w.binding.Annotations[contract.RolloutStrategyAnnotation] = strategy
}

// waits returns whether the stage holds the current template back.
func (w *seenWorld) waits() bool {
	_, waits := w.stage.Await(w.req, w.binding, w.fingerprint())
	return waits
}

// woken returns whether the request was enqueued since the last call.
func (w *seenWorld) woken() bool {
	if w.queue.Len() == 0 {
		return false
	}
	req, _ := w.queue.Get()
	w.queue.Done(req)
	return req == w.req
}

// decides makes the detector reconcile the current template, without changing the cached binding.
func (w *seenWorld) decides(strategy string) {
	w.seen.Plan(w.key(), strategy)
	w.seen.See(w.binding, w.fingerprint())
}

func TestAfterAStartTheDetectorLooksFirst(t *testing.T) {
	t.Parallel()
	w := newSeenWorld(t)
	w.Expect(w.waits()).To(BeTrue(), "a strategy or an override may have come while there was no hub")
	w.Expect(w.waits()).To(BeTrue())
	w.Expect(w.asked).To(Equal([]string{"Deployment web"}), "once")
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	since, _ := w.stage.Await(w.req, w.binding, "")
	w.Expect(since).To(Equal(time.Unix(1000, 0)))

	w.seen.Plan(w.key(), "")
	w.Expect(w.woken()).To(BeFalse(), "the detector is about to write")
	w.seen.See(w.binding, w.fingerprint())
	w.Expect(w.woken()).To(BeTrue())
	w.Expect(w.waits()).To(BeFalse())
	w.decides("")
	w.Expect(w.woken()).To(BeFalse(), "nobody waits any more")
}

func TestABindingThatIsMadeDoesNotWait(t *testing.T) {
	t.Parallel()
	w := newSeenWorld(t)
	w.seen.Plan(w.key(), "careful")
	w.goesBy("careful")
	w.Expect(w.waits()).To(BeFalse(), "its event may come before the answer to its creation")
}

func TestAnEditWaitsUntilItIsSeen(t *testing.T) {
	t.Parallel()
	w := newSeenWorld(t)
	w.decides("")
	w.edit()
	w.Expect(w.waits()).To(BeTrue())
	before := *w.template
	before.Generation--
	w.seen.Plan(w.key(), "")
	w.seen.See(w.binding, bindings.Fingerprint(&before))
	w.Expect(w.woken()).To(BeFalse(), "the detector is behind: to look again comes to the same")
	w.Expect(w.waits()).To(BeTrue())

	// Each reconcile asks twice, before and after it reads the template, and the wait continues.
	w.asked = nil
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	_, waits := w.stage.Await(w.req, w.binding, "")
	w.Expect(waits).To(BeFalse(), "some state of it was seen")
	since, _ := w.stage.Await(w.req, w.binding, w.fingerprint())
	w.Expect(since).To(Equal(time.Unix(1000, 0)))
	w.Expect(w.asked).To(BeEmpty())

	// The binding does not change, as with a lazy policy, which defers.
	w.decides("")
	w.Expect(w.woken()).To(BeTrue())
	w.Expect(w.waits()).To(BeFalse())
	w.Expect(w.waits()).To(BeFalse(), "whatever else wakes it")

	// The next edit changes the binding, which the cache shows later.
	w.edit()
	w.seen.Plan(w.key(), "")
	next := w.binding.DeepCopy()
	next.Annotations[contract.TemplateFingerprintAnnotation] = bindings.MadeOf(w.template, "rules-2")
	w.seen.See(next, w.fingerprint())
	w.Expect(w.waits()).To(BeTrue())
	w.binding = next
	w.Expect(w.waits()).To(BeFalse())
}

func TestAStrategyThatTheCacheDoesNotShow(t *testing.T) {
	t.Parallel()
	w := newSeenWorld(t)
	w.decides("")
	w.edit()
	w.decides("careful")
	w.Expect(w.waits()).To(BeTrue(), "the binding in the cache has none")
	w.goesBy("careful")
	w.Expect(w.waits()).To(BeFalse())

	w.decides(contract.RolloutStrategyNone)
	w.Expect(w.waits()).To(BeTrue(), "the binding in the cache has one")
	w.goesBy(contract.RolloutStrategyNone)
	w.Expect(w.waits()).To(BeFalse())
}

func TestWhatNobodyWatchesIsSeenHoweverItIsEdited(t *testing.T) {
	t.Parallel()
	w := newSeenWorld(t)
	w.binding.Labels = nil // no policy claims it any more
	w.Expect(w.waits()).To(BeTrue())
	w.seen.Plan(w.key(), "")
	w.seen.SeeAny(w.binding)
	w.Expect(w.woken()).To(BeTrue())
	w.edit()
	w.Expect(w.waits()).To(BeFalse())
	w.seen.Plan(w.key(), "careful")
	w.Expect(w.waits()).To(BeTrue(), "one was forced on it")
	w.goesBy("careful")
	w.Expect(w.waits()).To(BeFalse())

	w.decides("careful") // it is watched again
	w.edit()
	w.Expect(w.waits()).To(BeTrue())
}

func TestWhatTheDetectorIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*workv1alpha2.ResourceBinding){
		"what only follows workloads": func(b *workv1alpha2.ResourceBinding) {
			b.Labels, b.Spec.RequiredBy = nil, []workv1alpha2.BindingSnapshot{{Namespace: "shop", Name: "db-deployment"}}
		},
		"what somebody made":          func(b *workv1alpha2.ResourceBinding) { b.Labels, b.Annotations = nil, nil },
		"what somebody copied":        func(b *workv1alpha2.ResourceBinding) { b.Name = "copy" },
		"a template of another place": func(b *workv1alpha2.ResourceBinding) { b.Namespace = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSeenWorld(t)
			change(w.binding)
			w.Expect(w.waits()).To(BeFalse())
			w.Expect(w.asked).To(BeEmpty())
		})
	}
	g := NewWithT(t)
	var nobody *edits.Seen
	w := newSeenWorld(t)
	_, waits := nobody.Waiter().Await(w.req, w.binding, "f")
	g.Expect(waits).To(BeFalse(), "there is no detector")
	nobody.Plan(w.key(), "")
	nobody.See(w.binding, "f")
	nobody.Forget(w.key())
	nobody.OnAsk(nil)
	var none *edits.Waiter
	_, waits = none.Await(w.req, w.binding, "f")
	g.Expect(waits).To(BeFalse())
}

func TestWhoNeedsABindingThatGoes(t *testing.T) {
	t.Parallel()
	w := newSeenWorld(t)
	asked := edits.NewSeen(w.clock)
	stage := asked.Waiter()
	w.Expect(stage.Source().Start(t.Context(), w.queue)).To(Succeed())
	dependent := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "settings-configmap"}}
	_, waits := stage.Await(dependent, w.binding, "")
	w.Expect(waits).To(BeTrue())
	asked.OnAsk(func(ref workv1alpha2.ObjectReference) { w.asked = append(w.asked, ref.Name) })
	w.Expect(w.asked).To(Equal([]string{"web"}), "though the detector begins later")
	asked.Forget(w.key())
	req, _ := w.queue.Get()
	w.Expect(req).To(Equal(dependent))
}
