package edits

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// Seen records what the detector has seen of the templates of bindings since this process started. Only then is it
// known whether an edit is rolled out in waves, and in which: a hub that starts finds edits together with strategies
// that were created while no hub ran, and a template that is read live may be newer than anything the detector knows.
// So stages that send edits, or make revisions of them, ask here first, and wait.
//
//	detector   Plan ──> writes the binding ──> See ──┐
//	a stage    Await: not yet ──> asks for it ───────┴──> is enqueued again
//
// It is kept in memory only: no record of an earlier hub can tell what has changed since, and this way nothing has to
// be written. A nil Seen means that nobody waits for the detector. It is safe for concurrent use.
type Seen struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	bindings map[types.NamespacedName]seen
	waiting  map[types.NamespacedName]*waiting
	// ask makes the detector reconcile a template; nil until the detector runs.
	ask func(workv1alpha2.ObjectReference)
}

// seen is what the detector knows of one template.
type seen struct {
	// strategy is the RolloutStrategy that its binding has to name; empty if none.
	strategy string
	// fingerprint is the template's fingerprint when last seen, unless the binding has it
	// (contract.TemplateFingerprintAnnotation).
	fingerprint string
	// any says that the template is not watched: the strategy holds for any state of it.
	any bool
	// changed says that waiting requests have to be enqueued, and first that nothing was known before.
	changed, first bool
}

// waiting are the requests that wait for the detector to see a template.
type waiting struct {
	template workv1alpha2.ObjectReference
	since    map[waits]seenWait
}

// seenWait is since when a request waits, and when it last asked.
type seenWait struct{ since, asked time.Time }

// waitEnds is the time without a question after which a wait counts as over; a later question starts another wait.
const waitEnds = 5 * time.Minute

// waits is a waiting request of a controller.
type waits struct {
	waiter *Waiter
	req    reconcile.Request
}

// NewSeen returns an empty Seen.
func NewSeen(c clock.PassiveClock) *Seen {
	return &Seen{clock: c, bindings: map[types.NamespacedName]seen{}, waiting: map[types.NamespacedName]*waiting{}}
}

// OnAsk sets the function that makes the detector reconcile a template, and calls it for all templates with waiting
// requests. It must not block.
func (s *Seen) OnAsk(ask func(workv1alpha2.ObjectReference)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.ask = ask
	var asked []workv1alpha2.ObjectReference
	for _, w := range s.waiting {
		asked = append(asked, w.template)
	}
	s.mu.Unlock()
	for _, template := range asked {
		ask(template)
	}
}

// Plan must be called before the detector writes a binding, or leaves it unchanged, with the strategy that the
// binding then has to name: a stage whose cache does not show that yet has to wait.
func (s *Seen) Plan(key types.NamespacedName, strategy string) {
	if s == nil {
		return
	}
	if strategy == contract.RolloutStrategyNone {
		strategy = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of, known := s.bindings[key]
	of.changed, of.first = of.changed || !known || of.strategy != strategy, of.first || !known
	of.strategy = strategy
	s.bindings[key] = of
}

// See must be called once a binding has what was planned for a template with this fingerprint.
func (s *Seen) See(b kube.Binding, fingerprint string) {
	if fingerprint == bindings.FingerprintOn(b) {
		fingerprint = "" // saves memory, since there may be tens of thousands
	}
	s.see(client.ObjectKeyFromObject(b), func(of *seen) { of.fingerprint, of.any = fingerprint, false })
}

// SeeAny must be called once a binding has what was planned for a template that is not watched.
func (s *Seen) SeeAny(b kube.Binding) {
	s.see(client.ObjectKeyFromObject(b), func(of *seen) { of.fingerprint, of.any = "", true })
}

// see wakes the waiting requests if there is anything new for them.
func (s *Seen) see(key types.NamespacedName, update func(*seen)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.bindings[key]
	of := before
	update(&of)
	of.changed, of.first = false, false
	s.bindings[key] = of
	if before.changed || of != before {
		s.wake(key, before.first || !known)
	}
}

// Forget drops the record of a deleted binding.
func (s *Seen) Forget(key types.NamespacedName) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.bindings, key)
	s.wake(key, false)
}

// wake enqueues all requests that wait for a template; with last, behind all others, for instance when the detector
// sees all templates after a start. The caller holds the lock.
func (s *Seen) wake(key types.NamespacedName, last bool) {
	w := s.waiting[key]
	if w == nil {
		return
	}
	delete(s.waiting, key)
	for who := range w.since {
		if last {
			kube.EnqueueLast(who.waiter.queue, who.req)
		} else {
			who.waiter.queue.Add(who.req)
		}
	}
}

// Waiter waits on behalf of one controller.
type Waiter struct {
	seen *Seen
	// queue is set before the controller's first worker runs.
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Waiter returns a Waiter for a controller, which must use its Source.
func (s *Seen) Waiter() *Waiter { return &Waiter{seen: s} }

// Source returns the source that enqueues requests whose wait is over.
func (w *Waiter) Source() source.Source {
	return source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		w.queue = q
		return nil
	})
}

// Await returns whether a request has to wait until the detector has seen the template of a binding, and since when
// it has waited. b is the binding as cached by the controller, and fingerprint that of the template as read live;
// without one any state of the template is accepted. The request is enqueued again once more is known.
func (w *Waiter) Await(req reconcile.Request, b kube.Binding, fingerprint string) (since time.Time, must bool) {
	if w == nil || w.seen == nil || !bindings.IsDetected(b) {
		return time.Time{}, false
	}
	since, ask := w.seen.await(waits{waiter: w, req: req}, b, fingerprint)
	if ask != nil {
		ask(b.BindingSpec().Resource)
	}
	return since, !since.IsZero()
}

// await returns since when a request waits, zero if it need not, and the function to ask the detector with, if any.
func (s *Seen) await(who waits, b kube.Binding, fingerprint string) (time.Time, func(workv1alpha2.ObjectReference)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(b)
	w := s.waiting[key]
	if s.has(key, b, fingerprint) {
		if w != nil && fingerprint != "" { // without the template's fingerprint it is not known whether the awaited state was seen
			delete(w.since, who)
			if len(w.since) == 0 {
				delete(s.waiting, key)
			}
		}
		return time.Time{}, nil
	}
	if w == nil {
		w = &waiting{template: b.BindingSpec().Resource, since: map[waits]seenWait{}}
		s.waiting[key] = w
	}
	now := s.clock.Now()
	if before, already := w.since[who]; already && now.Sub(before.asked) < waitEnds {
		w.since[who] = seenWait{since: before.since, asked: now}
		return before.since, nil
	}
	w.since[who] = seenWait{since: now, asked: now}
	return now, s.ask
}

// has returns whether a binding has what the detector determined for a state of its template. The caller holds the
// lock.
func (s *Seen) has(key types.NamespacedName, b kube.Binding, fingerprint string) bool {
	of, known := s.bindings[key]
	if !known || of.strategy != bindings.StrategyOf(b) {
		return false
	}
	return fingerprint == "" || of.any || fingerprint == of.fingerprint || fingerprint == bindings.FingerprintOn(b)
}
