package series

import "time"

// renderTime is how long the Works of a binding may take to show a change of it.
const renderTime = 10 * time.Second

// Delivery is the state of a binding's delivery to its clusters at one moment.
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
	// are. changed is when the last change was seen.
	since, changed time.Time
	// heard is when the first change was seen that some cluster which is heard from has yet to
	// apply; zero if none has. Where none is silent it is since.
	heard time.Time
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
		known.generation, known.changed = d.Generation, now
		if known.since.IsZero() {
			known.since = now
		}
		if known.heard.IsZero() {
			known.heard = now
		}
	}
	if !d.Applied || known.since.IsZero() {
		return 0, false
	}
	took = now.Sub(known.since)
	known.since, known.heard = time.Time{}, time.Time{}
	return took, true
}

// Start takes over what was there before tracking began: of what is applied nothing is
// measured until its next change, and what is not counts from now on.
func (t *Tracker[K]) Start(key K, d Delivery, now time.Time) {
	known := &state{generation: d.Generation}
	if !d.Applied {
		known.since, known.changed, known.heard = now, now, now
	}
	t.of[key] = known
}

// Heard takes over, of what some silent cluster has yet to apply, whether a cluster does that is heard
// from. It says since when; zero if none does. What all have applied that are heard from counts no
// more, and the next change from its own time.
func (t *Tracker[K]) Heard(key K, waits bool, now time.Time) time.Time {
	known := t.of[key]
	switch {
	case known == nil || known.since.IsZero():
		return time.Time{}
	case waits && known.heard.IsZero():
		known.heard = now // one that was silent is heard from again
	case waits:
	case now.Sub(known.changed) < renderTime:
		known.heard = known.changed // its Works may not show the last change yet
		return time.Time{}
	default:
		known.heard = time.Time{}
	}
	return known.heard
}

// Forget drops what is gone.
func (t *Tracker[K]) Forget(key K) { delete(t.of, key) }
