package series

import "time"

// renderTime is how long the hub may take to render a change of a binding into its Works.
const renderTime = 10 * time.Second

// Delivery is the state of a binding's delivery at one moment.
type Delivery struct {
	// Generation is the generation that the clusters should have.
	Generation int64
	// Applied says that all clusters have applied it.
	Applied bool
}

// Tracker tracks since when changes are being delivered. Use NewTracker; it is not safe for concurrent use.
type Tracker[K comparable] struct {
	of map[K]*state
}

type state struct {
	generation int64
	// since is when the first change was seen that is not applied everywhere; zero if all are. changed is when the last
	// change was seen.
	since, changed time.Time
	// heard is when the first change was seen that some reachable cluster has yet to apply; zero if there is none. If
	// no cluster is silent, it equals since.
	heard time.Time
}

// NewTracker returns an empty Tracker.
func NewTracker[K comparable]() *Tracker[K] { return &Tracker[K]{of: map[K]*state{}} }

// Observe records the state of a delivery. When a change has been applied everywhere, it returns how long that took,
// counted from the first of several overlapping changes. For changes that clusters missed while silent, the time counts
// from when they were heard from again; if that is unknown, nothing is returned, since a week's absence says nothing
// about how long changes take.
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
	heard := known.heard
	known.since, known.heard = time.Time{}, time.Time{}
	return now.Sub(heard), !heard.IsZero()
}

// Start records the state before tracking began: applied changes are not measured, and pending ones count from now on.
func (t *Tracker[K]) Start(key K, d Delivery, now time.Time) {
	known := &state{generation: d.Generation}
	if !d.Applied {
		known.since, known.changed, known.heard = now, now, now
	}
	t.of[key] = known
}

// Heard records, for a change that some silent cluster has yet to apply, whether a reachable cluster has yet to apply
// it as well. It returns since when; zero if none has. Once all reachable clusters have applied it, the next change
// counts from its own time.
func (t *Tracker[K]) Heard(key K, waits bool, now time.Time) time.Time {
	known := t.of[key]
	switch {
	case known == nil || known.since.IsZero():
		return time.Time{}
	case waits && known.heard.IsZero():
		known.heard = now // a silent cluster is heard from again
	case waits:
	case now.Sub(known.changed) < renderTime:
		known.heard = known.changed // its Works may not have the last change yet
		return time.Time{}
	default:
		known.heard = time.Time{}
	}
	return known.heard
}

// Forget drops a deleted binding.
func (t *Tracker[K]) Forget(key K) { delete(t.of, key) }
