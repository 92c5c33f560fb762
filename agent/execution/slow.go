package execution

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// slowAfter is after how long a write that was not answered is a slow one. A webhook has 10 s by itself, and 30 s at most.
	slowAfter = 5 * time.Second
	// slowFor is for how long a place is known to be slow after a slow answer. What failed is tried again sooner (lastRetry). What is answered
	// well meanwhile tells nothing: a webhook may be about some objects of a kind and not about others.
	slowFor = 2 * lastRetry
	// refusedLately is how long after it was refused room a place is taken to wait for it: that is asked for again sooner.
	refusedLately = lastRetry + 2*slowAfter
)

// errNoRoom says that a write was not made, since too many workers wait for slow answers already.
var errNoRoom = errors.New("the member answers slowly about such objects, as where one of its admission webhooks does not answer, " +
	"so only a few of them are tried at a time; this is tried again by itself")

// roomRetry returns after how long it is looked again whether there is room for a write: the others wait for an answer.
func roomRetry() time.Duration { return wait.Jitter(slowAfter, 1) }

// place is where writes may be slow: a webhook is called for a kind, a namespace, or a kind there, and for some operations. Of a cluster-scoped
// kind the namespace is empty.
type place struct {
	schema.GroupKind

	namespace string
	deletes   bool
}

// slowWrites bounds how many workers wait at a time for a member that answers slowly about some of its objects, so that the others go through.
type slowWrites struct {
	clock clock.PassiveClock
	// most is how many workers may wait for slow answers at a time, and mostKnown how many of them about places that are known to be
	// slow. What is left to the others is for places of which that is yet to be found out: they are near slow ones.
	most, mostKnown int

	mu    sync.Mutex
	under map[*write]struct{}
	// slow are the places that are known to be slow, and well those near them of which a write was answered well.
	slow map[place]*slowness
	well map[place]struct{}
	// recovered are the places that are not known to be slow any more, which is yet to be logged.
	recovered []place
}

// slowness is what is known of a slow place.
type slowness struct {
	until time.Time
	// begun is when a write was last made there, and refused when one last found no room since.
	begun, refused time.Time
	// told says that a write there ended slowly.
	told bool
}

// write is one that is under way.
type write struct {
	place

	since time.Time
	// bounded says that it was made because there was room for it, and known that it is about a place that is known to be slow.
	bounded, known bool
}

func newSlowWrites(c clock.PassiveClock, workers int) *slowWrites {
	most := max(workers/2, 1)
	return &slowWrites{
		clock: c, most: most, mostKnown: max(most/2, 1),
		under: map[*write]struct{}{}, slow: map[place]*slowness{}, well: map[place]struct{}{},
	}
}

// Begin says whether a write may be made now. If it may, it ends with End.
func (s *slowWrites) Begin(at place) (*write, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	s.pass(now)
	here, known := s.slow[at]
	_, well := s.well[at]
	w := &write{place: at, since: now, known: known, bounded: known || !well && s.isNear(at)}
	if w.bounded && !s.hasRoom(w, now) {
		if known {
			here.refused = now
		}
		return nil, false
	}
	if known {
		here.begun, here.refused = now, time.Time{}
	}
	s.under[w] = struct{}{}
	return w, true
}

// pass notes what came of time: which writes are late, and which places were not slow for long.
func (s *slowWrites) pass(now time.Time) {
	for w := range s.under {
		if now.Sub(w.since) >= slowAfter {
			s.mark(w, now)
		}
	}
	for at, known := range s.slow {
		if now.Before(known.until) {
			continue
		}
		delete(s.slow, at)
		if known.told {
			s.recovered = append(s.recovered, at)
		}
	}
	if len(s.slow) == 0 {
		clear(s.well)
	}
}

// mark notes that a write is, or was, slow, and returns what is known of its place.
func (s *slowWrites) mark(w *write, now time.Time) *slowness {
	known := s.slow[w.place]
	if known == nil {
		known = &slowness{begun: w.since}
		s.slow[w.place] = known
	}
	known.until = now.Add(slowFor)
	delete(s.well, w.place)
	return known
}

// isNear says whether writes about the kind of a place, or in its namespace, are slow.
func (s *slowWrites) isNear(at place) bool {
	for other := range s.slow {
		if other.GroupKind == at.GroupKind || at.namespace != "" && other.namespace == at.namespace {
			return true
		}
	}
	return false
}

// hasRoom says whether there is room for a write. Where several slow places wait for it each has one at a time, and who had it longest ago is the next:
// one that hangs with many objects does not keep it from one that is well again.
func (s *slowWrites) hasRoom(w *write, now time.Time) bool {
	held, known, holds := 0, 0, map[place]bool{}
	for other := range s.under {
		late := now.Sub(other.since) >= slowAfter
		if late || other.bounded {
			held++
		}
		if late || other.known {
			known++
		}
		holds[other.place] = true
	}
	if held >= s.most || !w.known {
		return held < s.most
	}
	others, before := false, 0
	for at, other := range s.slow {
		if at == w.place || now.Sub(other.refused) > refusedLately {
			continue
		}
		others = true
		if !holds[at] && other.begun.Before(s.slow[w.place].begun) {
			before++
		}
	}
	return known+before < s.mostKnown && (!others || !holds[w.place])
}

// End notes how a write was answered. It says whether writes of its place are slow, if that is new, and which places are well again.
func (s *slowWrites) End(w *write, err error) (slow bool, recovered []place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.under, w)
	now := s.clock.Now()
	_, known := s.slow[w.place]
	switch {
	case calledWebhook(err) || now.Sub(w.since) >= slowAfter:
		at := s.mark(w, now)
		slow, at.told = !at.told, true
	case err == nil && w.bounded && !known: // what was refused before a webhook was called tells nothing
		s.well[w.place] = struct{}{}
	}
	s.pass(now)
	recovered, s.recovered = s.recovered, nil
	return slow, recovered
}

// boundedClient makes the writes for which there is room; the others fail with errNoRoom.
type boundedClient struct {
	client.Client

	slow *slowWrites
}

// errNotAnswered is what a write comes to that ends without an answer.
var errNotAnswered = errors.New("the write did not come to an end")

// do makes one write.
func (b boundedClient) do(ctx context.Context, at place, write func() error) error {
	w, ok := b.slow.Begin(at)
	if !ok {
		return errNoRoom
	}
	err := errNotAnswered
	defer func() { // also if it panics, which does not end the agent
		slow, recovered := b.slow.End(w, err)
		log := ctrl.LoggerFrom(ctx)
		if slow {
			log.Info("The member answers slowly, or a webhook of it not at all: of such objects only a few are tried at a time from now on, so that the others go through",
				"kind", at.String(), "namespace", at.namespace, "deletes", at.deletes)
		}
		for _, well := range recovered {
			log.Info("The member did not answer slowly for some time", "kind", well.String(), "namespace", well.namespace, "deletes", well.deletes)
		}
	}()
	err = write()
	return err
}

// Apply implements client.Client.
func (b boundedClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	write := func() error { return b.Client.Apply(ctx, obj, opts...) }
	named, ok := obj.(interface {
		GroupVersionKind() schema.GroupVersionKind
		GetNamespace() string
	})
	if !ok { // what is applied here is unstructured
		return write()
	}
	return b.do(ctx, place{GroupKind: named.GroupVersionKind().GroupKind(), namespace: named.GetNamespace()}, write)
}

// Patch implements client.Client.
func (b boundedClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return b.do(ctx, placeOf(obj, false), func() error { return b.Client.Patch(ctx, obj, patch, opts...) })
}

// Delete implements client.Client.
func (b boundedClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return b.do(ctx, placeOf(obj, true), func() error { return b.Client.Delete(ctx, obj, opts...) })
}

func placeOf(obj client.Object, deletes bool) place {
	return place{GroupKind: obj.GetObjectKind().GroupVersionKind().GroupKind(), namespace: obj.GetNamespace(), deletes: deletes}
}
