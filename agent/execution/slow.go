package execution

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// slowAfter is after how long a request that was not answered is a slow one. A webhook has 10 s by itself, and 30 s at most.
	slowAfter = 5 * time.Second
	// slowFor is for how long a place is known to be slow after a slow answer. What failed is tried again sooner (lastRetry). What is answered
	// well meanwhile tells nothing: a webhook may be about some objects of a kind and not about others.
	slowFor = 2 * lastRetry
	// refusedLately is how long after it was refused room a place is taken to wait for it: that is asked for again sooner.
	refusedLately = lastRetry + 2*slowAfter
)

// errNoRoom says that a request was not made, since too many workers wait for slow answers already.
var errNoRoom = errors.New("the member answers slowly about such objects, as where one of its admission or conversion webhooks does not answer, " +
	"so only a few of them are tried at a time; this is tried again by itself")

// roomRetry returns after how long it is looked again whether there is room for a request: the others wait for an answer.
func roomRetry() time.Duration { return wait.Jitter(slowAfter, 1) }

// act is what a request does: a webhook is called for some acts and not for others.
type act string

const (
	actWrite  act = "write"
	actDelete act = "delete"
	actRead   act = "read"
)

// place is where requests may be slow: a webhook is called for a kind, a namespace, or a kind there, and for some acts. Of a cluster-scoped
// kind the namespace is empty, and where all namespaces are read.
type place struct {
	schema.GroupKind

	namespace string
	act       act
}

// slowRequests bounds how many workers wait at a time for a member that answers slowly about some of its objects, so that the others go through.
type slowRequests struct {
	clock clock.PassiveClock
	// most is how many workers may wait for slow answers at a time, and mostKnown how many of them about places that are known to be
	// slow. What is left to the others is for places of which that is yet to be found out: they are near slow ones.
	most, mostKnown int

	mu    sync.Mutex
	under map[*request]struct{}
	// slow are the places that are known to be slow, and well those near them of which a request was answered well.
	slow map[place]*slowness
	well map[place]struct{}
	// recovered are the places that are not known to be slow any more, which is yet to be logged.
	recovered []place
}

// slowness is what is known of a slow place.
type slowness struct {
	until time.Time
	// begun is when a request was last made there, and refused when one last found no room since.
	begun, refused time.Time
	// told says that one there ended slowly.
	told bool
}

// request is one that is under way.
type request struct {
	place

	since time.Time
	// bounded says that it was made because there was room for it, and known that it is about a place that is known to be slow.
	bounded, known bool
}

func newSlowRequests(c clock.PassiveClock, workers int) *slowRequests {
	most := max(workers/2, 1)
	return &slowRequests{
		clock: c, most: most, mostKnown: max(most/2, 1),
		under: map[*request]struct{}{}, slow: map[place]*slowness{}, well: map[place]struct{}{},
	}
}

// Begin says whether a request may be made now. If it may, it ends with End.
func (s *slowRequests) Begin(at place) (*request, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	s.pass(now)
	here, known := s.slow[at]
	_, well := s.well[at]
	r := &request{place: at, since: now, known: known, bounded: known || !well && s.isNear(at)}
	if r.bounded && !s.hasRoom(r, now) {
		if known {
			here.refused = now
		}
		return nil, false
	}
	if known {
		here.begun, here.refused = now, time.Time{}
	}
	s.under[r] = struct{}{}
	return r, true
}

// pass notes what came of time: which requests are late, and which places were not slow for long.
func (s *slowRequests) pass(now time.Time) {
	for r := range s.under {
		if now.Sub(r.since) >= slowAfter {
			s.mark(r, now)
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

// mark notes that a request is, or was, slow, and returns what is known of its place.
func (s *slowRequests) mark(r *request, now time.Time) *slowness {
	known := s.slow[r.place]
	if known == nil {
		known = &slowness{begun: r.since}
		s.slow[r.place] = known
	}
	known.until = now.Add(slowFor)
	delete(s.well, r.place)
	return known
}

// isNear says whether requests about the kind of a place, or in its namespace, are slow.
func (s *slowRequests) isNear(at place) bool {
	for other := range s.slow {
		if other.GroupKind == at.GroupKind || at.namespace != "" && other.namespace == at.namespace {
			return true
		}
	}
	return false
}

// hasRoom says whether there is room for a request. Where several slow places wait for it each has one at a time, and who had it longest ago is the next:
// one that hangs with many objects does not keep it from one that is well again.
func (s *slowRequests) hasRoom(r *request, now time.Time) bool {
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
	if held >= s.most || !r.known {
		return held < s.most
	}
	others, before := false, 0
	for at, other := range s.slow {
		if at == r.place || now.Sub(other.refused) > refusedLately {
			continue
		}
		others = true
		if !holds[at] && other.begun.Before(s.slow[r.place].begun) {
			before++
		}
	}
	return known+before < s.mostKnown && (!others || !holds[r.place])
}

// End notes how a request was answered. It says whether those of its place are slow, if that is new, and which places are well again.
func (s *slowRequests) End(r *request, err error) (slow bool, recovered []place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.under, r)
	now := s.clock.Now()
	_, known := s.slow[r.place]
	switch {
	case calledWebhook(err) || now.Sub(r.since) >= slowAfter:
		at := s.mark(r, now)
		slow, at.told = !at.told, true
	case err == nil && r.bounded && !known: // what was refused before a webhook was called tells nothing
		s.well[r.place] = struct{}{}
	}
	s.pass(now)
	recovered, s.recovered = s.recovered, nil
	return slow, recovered
}

// errNotAnswered is what a request comes to that ends without an answer.
var errNotAnswered = errors.New("the request did not come to an end")

// do makes one request, if there is room for it; otherwise it fails with errNoRoom.
func (s *slowRequests) do(ctx context.Context, at place, request func() error) error {
	r, ok := s.Begin(at)
	if !ok {
		return errNoRoom
	}
	err := errNotAnswered
	defer func() { // also if it panics, which does not end the agent
		slow, recovered := s.End(r, err)
		log := ctrl.LoggerFrom(ctx)
		if slow {
			log.Info("The member answers slowly, or a webhook of it not at all: of such objects only a few are tried at a time from now on, so that the others go through",
				"kind", at.String(), "namespace", at.namespace, "act", at.act)
		}
		for _, well := range recovered {
			log.Info("The member did not answer slowly for some time", "kind", well.String(), "namespace", well.namespace, "act", well.act)
		}
	}()
	err = request()
	return err
}
