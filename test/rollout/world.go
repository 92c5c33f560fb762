package rollout

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/disruption"
	"fairlead.dev/hub/flow/rollout/admit"
	"fairlead.dev/test/story"
)

// begin is the start time of every story.
func begin() time.Time { return time.Date(2026, 5, 1, 21, 0, 0, 0, time.UTC) }

// How long things take in a story.
const (
	leaseTime   = 40 * time.Second // until the hub believes that a cluster is silent
	applyTime   = 2 * time.Second  // until an agent has applied what it was sent
	startupTime = 20 * time.Second // until that is healthy
	beat        = 10 * time.Second // until a cluster that is back is heard
)

// world is the complete state: the objects in the hub's API server, the members, and the hub's memory.
type world struct {
	story.Record

	now        time.Time
	rand       *rand.Rand // nil for the order of the flow
	strategies map[string]*fairleadv1alpha1.RolloutStrategySpec
	clusters   map[string]*cluster
	apps       map[string]*app
	suspect    bool
	// down means that there is no hub: nothing is decided, and heartbeats are not heard. Began is the start time of the
	// hub.
	down  bool
	began time.Time
	// memory is the hub's state that a restart loses.
	memory map[string]admit.Memory
	// slow means that the binding stage sees a status only when the next one is written.
	slow bool
	due  []time.Time
}

// cluster is a member, and the hub's view of it.
type cluster struct {
	record    *clusterv1alpha1.Cluster
	connected bool
	changedAt time.Time // when it was last cut off or came back
	// silentSince and heardSince are the hub's view.
	silentSince, heardSince time.Time
}

func newWorld(r *rand.Rand) *world {
	return &world{
		now: begin(), rand: r, strategies: map[string]*fairleadv1alpha1.RolloutStrategySpec{}, clusters: map[string]*cluster{},
		apps: map[string]*app{}, memory: map[string]admit.Memory{},
	}
}

// Advance lets time pass up to a duration since the beginning.
func (w *world) Advance(until time.Duration) { w.advance(begin().Add(until)) }

// advance lets time pass, from one due time to the next.
func (w *world) advance(until time.Time) {
	for {
		for _, a := range w.apps {
			a.seen = a.status
		}
		w.settle()
		next := until
		for _, at := range w.due {
			if at.After(w.now) && at.Before(next) {
				next = at
			}
		}
		w.due = slices.DeleteFunc(w.due, func(at time.Time) bool { return !at.After(next) })
		if !next.After(w.now) {
			return
		}
		w.now = next
	}
}

func (w *world) after(wait time.Duration) {
	if wait > 0 {
		w.due = append(w.due, w.now.Add(wait))
	}
}

// rounds is the number of rounds at one instant after which the stages are considered not to settle.
const rounds = 100

// settle runs the stages until none changes anything.
func (w *world) settle() {
	for range rounds {
		if w.down {
			return
		}
		turns := []func() bool{w.hear, w.decide, w.bind, w.act}
		if w.rand != nil {
			w.rand.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		}
		changed := false
		for _, turn := range turns {
			changed = turn() || changed
		}
		if !changed {
			return
		}
	}
	w.breaks("the stages do not come to an end")
}

// hear is the hub's cluster stage: it decides which clusters are silent, and which are heard again.
func (w *world) hear() bool {
	changed := false
	for _, name := range names(w.clusters) {
		c := w.clusters[name]
		wait := leaseTime
		if c.connected {
			wait = beat
		}
		if c.connected == c.silentSince.IsZero() {
			continue
		}
		left := wait - w.now.Sub(c.changedAt)
		if !c.connected {
			left = max(left, disruption.StartGrace(leaseTime)-w.now.Sub(w.began))
		}
		if left > 0 {
			w.after(left)
			continue
		}
		changed = true
		if c.connected {
			c.silentSince, c.heardSince = time.Time{}, w.now
			w.tell("%s is heard again", name)
		} else {
			c.silentSince, c.heardSince = w.now, time.Time{}
			w.tell("%s is silent", name)
		}
	}
	return changed
}

func (w *world) connect(name string, connected bool) {
	c := w.clusters[name]
	if c.connected != connected {
		c.connected, c.changedAt = connected, w.now
	}
}

// tell records an event.
func (w *world) tell(format string, args ...any) {
	fmt.Fprintf(&w.Trace, "%9s  %s\n", w.now.Sub(begin()), fmt.Sprintf(format, args...))
}

// breaks records a violated property.
func (w *world) breaks(format string, args ...any) {
	w.Break(w.now.Sub(begin()), format, args...)
}

func names[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
