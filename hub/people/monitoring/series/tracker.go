package series

import "time"

// Delivery is what is seen of a binding at some time.
type Delivery struct {
	// Generation of what is asked of the clusters.
	Generation int64
	// Applied says that all of them have applied that generation.
	Applied bool
}

// Tracker knows since when changes are under way. The zero value is not ready; it is for one
// goroutine at a time.
type Tracker[K comparable] struct {
	of map[K]*state
}

type state struct {
	generation int64
	// since is when the first change was seen that is not applied everywhere; zero if all
	// are.
	since time.Time
}

// NewTracker returns a Tracker that knows of nothing.
func NewTracker[K comparable]() *Tracker[K] { return &Tracker[K]{of: map[K]*state{}} }

// Observe takes over what is seen. It returns how long it took when a change is applied
// everywhere: from the first of several that came before the others were.
func (t *Tracker[K]) Observe(key K, d Delivery, now time.Time) (took time.Duration, done bool) {
	known, ok := t.of[key]
	if !ok {
		known = &state{}
		t.of[key] = known
	}
	if d.Generation != known.generation {
		known.generation = d.Generation
		if known.since.IsZero() {
			known.since = now
		}
	}
	if !d.Applied || known.since.IsZero() {
		return 0, false
	}
	took = now.Sub(known.since)
	known.since = time.Time{}
	return took, true
}

// Start takes over what was there before tracking began: of what is applied nothing is
// measured until its next change, and what is not counts from now on.
func (t *Tracker[K]) Start(key K, d Delivery, now time.Time) {
	known := &state{generation: d.Generation}
	if !d.Applied {
		known.since = now
	}
	t.of[key] = known
}

// Forget drops what is gone.
func (t *Tracker[K]) Forget(key K) { delete(t.of, key) }

// Since says since when a change is under way; zero if none is.
func (t *Tracker[K]) Since(key K) time.Time {
	if known := t.of[key]; known != nil {
		return known.since
	}
	return time.Time{}
}
