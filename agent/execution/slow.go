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
	// slowAfter is how long an unanswered request takes to count as slow. A webhook's default timeout is 10 s, its
	// maximum 30 s.
	slowAfter = 5 * time.Second
	// slowFor is how long a place counts as slow after a slow answer. Failed requests are retried sooner (lastRetry).
	// Fast answers meanwhile do not end it: a webhook may apply to some objects of a kind and not to others.
	slowFor = 2 * lastRetry
	// refusedLately is how long a place that was refused room counts as waiting for it: a waiting caller retries
	// sooner.
	refusedLately = lastRetry + 2*slowAfter
)

// errNoRoom says that a request was not made because too many workers already wait for slow answers.
var errNoRoom = errors.New("the member answers slowly for such objects, perhaps because one of its admission or conversion webhooks does not answer, " +
	"so only a few of them are tried at a time; the agent tries again by itself")

// roomRetry returns the delay before the next attempt to get room: the other requests wait for answers.
func roomRetry() time.Duration { return wait.Jitter(slowAfter, 1) }

// act is the kind of request: webhooks apply to some and not to others.
type act string

const (
	actWrite  act = "write"
	actDelete act = "delete"
	actRead   act = "read"
)

// place identifies requests that may be slow together: a webhook applies to a kind, a namespace, or both, and to some
// acts. The namespace is empty for cluster-scoped kinds and for reads across namespaces.
type place struct {
	schema.GroupKind

	namespace string
	act       act
}

// slowRequests bounds how many workers wait at a time for a member that is slow about some of its objects, so that
// requests about others go through.
type slowRequests struct {
	clock clock.PassiveClock
	// most is how many workers may wait for slow answers at a time, and mostKnown how many of them about places that
	// are known to be slow. The difference is for places near slow ones, about which that is yet to be found out.
	most, mostKnown int

	mu    sync.Mutex
	under map[*request]struct{}
	// slow are the places known to be slow, and well those near them where a request was answered fast.
	slow map[place]*slowness
	well map[place]struct{}
	// recovered are the places that are no longer slow, which is yet to be logged.
	recovered []place
}

// slowness is the state of a slow place.
type slowness struct {
	until time.Time
	// begun is when a request was last made there, and refused when one last found no room after that.
	begun, refused time.Time
	// told says that a slow request there was logged.
	told bool
}

// request is a request in progress.
type request struct {
	place

	since time.Time
	// bounded says that the request took room, and known that its place is known to be slow.
	bounded, known bool
}

func newSlowRequests(c clock.PassiveClock, workers int) *slowRequests {
	most := max(workers/2, 1)
	return &slowRequests{
		clock: c, most: most, mostKnown: max(most/2, 1),
		under: map[*request]struct{}{}, slow: map[place]*slowness{}, well: map[place]struct{}{},
	}
}

// Begin returns whether a request may be made now. If so, the caller has to call End.
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

// pass updates the state for the present time: which requests are late, and which places are no longer slow.
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

// mark records that a request is, or was, slow, and returns the state of its place.
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

// isNear returns whether requests about the place's kind, or in its namespace, are slow.
func (s *slowRequests) isNear(at place) bool {
	for other := range s.slow {
		if other.GroupKind == at.GroupKind || at.namespace != "" && other.namespace == at.namespace {
			return true
		}
	}
	return false
}

// hasRoom returns whether there is room for a request. If several slow places wait for room, each has one request at
// a time, and the one whose last request is longest ago is next: a place where many requests hang does not block one
// that has recovered.
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

// End records how a request was answered. It returns whether its place has newly been found slow, and which places
// have recovered.
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
	case err == nil && r.bounded && !known: // an error may come from before the webhook was called
		s.well[r.place] = struct{}{}
	}
	s.pass(now)
	recovered, s.recovered = s.recovered, nil
	return slow, recovered
}

// errNotAnswered is the result of a request that ended without an answer.
var errNotAnswered = errors.New("the request did not finish")

// do makes a request if there is room for it; otherwise it fails with errNoRoom.
func (s *slowRequests) do(ctx context.Context, at place, request func() error) error {
	r, ok := s.Begin(at)
	if !ok {
		return errNoRoom
	}
	err := errNotAnswered
	defer func() { // also after a panic, which the manager recovers
		slow, recovered := s.End(r, err)
		log := ctrl.LoggerFrom(ctx)
		if slow {
			log.Info("The member answers slowly, or one of its webhooks not at all: only a few of such objects are tried at a time from now on, so that others get through",
				"kind", at.String(), "namespace", at.namespace, "act", at.act)
		}
		for _, well := range recovered {
			log.Info("The member did not answer slowly for some time", "kind", well.String(), "namespace", well.namespace, "act", well.act)
		}
	}()
	err = request()
	return err
}
