package live

import (
	"sync"

	"k8s.io/utils/clock"
)

// Topic is an object, or a kind of objects, that has changed.
type Topic struct {
	// Kind is one of the constants below, Key names the object.
	Kind, Key string
}

// Kinds of topics. Lease changes all the time, and updates pages every leasesEvery only.
const (
	Cluster     = "cluster"
	Lease       = "lease"
	Application = "application"
	Policy      = "policy"
	Rollout     = "rollout"
)

// Topics notifies the streams of changes. It never blocks.
type Topics struct {
	clock clock.WithTicker
	mu    sync.Mutex
	subs  map[*subscription]bool
}

// NewTopics returns Topics without streams.
func NewTopics(c clock.WithTicker) *Topics {
	return &Topics{clock: c, subs: map[*subscription]bool{}}
}

func (t *Topics) subscribe() *subscription {
	t.mu.Lock()
	defer t.mu.Unlock()
	sub := &subscription{}
	t.subs[sub] = true
	return sub
}

func (t *Topics) unsubscribe(sub *subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.subs, sub)
}

// Publish notifies every stream that the topic concerns.
func (t *Topics) Publish(one Topic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for sub := range t.subs {
		sub.notify(one)
	}
}

// subscription collects the changes that one stream has to show.
type subscription struct {
	mu      sync.Mutex
	follows func(Topic) bool
	// changed and renewed say what has changed since the last update: renewed is for leases.
	changed, renewed bool
	// all says that something changed before follows was set.
	all bool
}

func (s *subscription) notify(one Topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.follows == nil:
		s.all = true
	case s.changed && s.renewed || !s.follows(one):
	case one.Kind == Lease:
		s.renewed = true
	default:
		s.changed = true
	}
}

// follow sets which topics concern the stream. Changes from before count as one that does.
func (s *subscription) follow(what func(Topic) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if what == nil {
		what = func(Topic) bool { return false }
	}
	s.follows = what
	s.changed = s.all
}

func (s *subscription) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *subscription) leases() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewed
}

func (s *subscription) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed, s.renewed = false, false
}
