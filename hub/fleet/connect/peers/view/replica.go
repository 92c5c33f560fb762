package view

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"fairlead.dev/hub/fleet/connect/lines"
	"fairlead.dev/hub/fleet/connect/peers/wire"
)

// reconnectGrace is how long the last reported lines of a replica that is not heard from may still be open: longer than
// it takes to reconnect.
const reconnectGrace = 15 * time.Second

// keepLost is how long the end of a line is remembered; nothing depends on it for longer.
const keepLost = 10 * time.Minute

// ErrTooMany says that a replica reports more lines than a replica can hold.
var ErrTooMany = errors.New("another replica tells of too many lines")

// Replica holds the lines that one other replica reported. The zero value is a replica that has reported nothing yet.
type Replica struct {
	// ID is the name of the replica.
	ID string

	known map[string]lines.State
	// arriving has the lines of a new stream until they are complete; nil afterwards.
	arriving map[string]lines.State
	synced   bool
	// unheard is since when the replica has not been heard from. The lines that were open count as ended then.
	unheard time.Time
}

// Begin starts a new stream, whose first messages contain all lines of the replica.
func (r *Replica) Begin() { r.arriving, r.synced = map[string]lines.State{}, false }

// Synced says whether the present lines of the replica are all known.
func (r *Replica) Synced() bool { return r.synced }

// Apply applies a message, and returns the sorted names of the clusters whose lines changed.
func (r *Replica) Apply(m wire.Message, now time.Time) ([]string, error) {
	if r.known == nil && r.arriving == nil {
		r.Begin()
	}
	into := r.known
	if r.arriving != nil {
		into = r.arriving
	}
	changed := map[string]bool{}
	for _, name := range m.Gone {
		if _, is := into[name]; is {
			delete(into, name)
			changed[name] = true
		}
	}
	for _, l := range m.Lines {
		into[l.Cluster] = r.read(l, now)
		changed[l.Cluster] = true
	}
	if len(into) > wire.MaxLines {
		return nil, fmt.Errorf("%w: %s of more than %d", ErrTooMany, r.ID, wire.MaxLines)
	}
	if r.arriving != nil {
		if !m.Synced {
			return nil, nil // it counts only once it is complete
		}
		changed = r.replace(now)
	}
	return slices.Sorted(maps.Keys(changed)), nil
}

// sameLine is how far two reports on when one line was opened may be apart, since messages take time.
const sameLine = 2 * time.Second

// read converts a reported line. A line that was known before keeps the time at which it was opened, which identifies it.
func (r *Replica) read(l wire.Line, now time.Time) lines.State {
	ago := func(ms int64) time.Time { return now.Add(-time.Duration(ms) * time.Millisecond) }
	out := lines.State{
		Cluster: l.Cluster, Up: l.Up, Since: ago(l.SinceAgo), Goodbye: l.Goodbye && !l.Up,
		Info: lines.Info{Presence: l.Presence, Operators: l.Operators, Session: l.Session},
	}
	if before, known := r.known[l.Cluster]; known && out.Since.Sub(before.Since).Abs() < sameLine {
		out.Since = before.Since
	}
	if !l.Up {
		out.Lost = ago(l.LostAgo)
	}
	return out
}

// replace replaces all lines by those of a new stream. A line that was open and is missing now ended while the replica was not heard from:
// when and why is unknown.
func (r *Replica) replace(now time.Time) map[string]bool {
	changed := map[string]bool{}
	for name := range r.arriving {
		changed[name] = true
	}
	for name, old := range r.known {
		if _, listed := r.arriving[name]; listed {
			continue
		}
		if old.Up {
			changed[name] = true
		}
		r.arriving[name] = end(old, now)
	}
	r.known, r.arriving, r.synced, r.unheard = r.arriving, nil, true, time.Time{}
	return changed
}

// end returns a line as ended for an unknown reason.
func end(l lines.State, now time.Time) lines.State {
	if l.Up {
		l.Up, l.Lost, l.Goodbye = false, now, true
	}
	return l
}

// Lose notes that the replica is not heard from any more. Its lines may be open or not, so they count as ended with a goodbye. It returns
// the sorted names of the clusters whose lines changed.
func (r *Replica) Lose(now time.Time) []string {
	r.arriving, r.synced = nil, false
	var changed []string
	for name, l := range r.known {
		if l.Up {
			r.known[name] = end(l, now)
			r.unheard = now
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}

// Forget forgets lines that ended long ago, and says whether any line is left.
func (r *Replica) Forget(now time.Time) bool {
	maps.DeleteFunc(r.known, func(_ string, l lines.State) bool { return !l.Up && now.Sub(l.Lost) > keepLost })
	return len(r.known) > 0 || r.synced || r.arriving != nil
}

// Line returns the replica's report on the line of a cluster.
func (r *Replica) Line(cluster string) (lines.State, bool) {
	l, is := r.known[cluster]
	return l, is
}

// Session returns the session of the line that the replica has of a cluster, or may have, since it had one when it was last heard from, a
// moment ago. It is empty if there is no line, or if the replica's version has no sessions.
func (r *Replica) Session(cluster string, now time.Time) string {
	l := r.known[cluster]
	if l.Up || !r.unheard.IsZero() && l.Lost.Equal(r.unheard) && now.Sub(r.unheard) < reconnectGrace {
		return l.Session
	}
	return ""
}

// States returns the replica's reports on the lines of all clusters, by name.
func (r *Replica) States() []lines.State {
	return slices.SortedFunc(maps.Values(r.known), func(a, b lines.State) int { return cmp.Compare(a.Cluster, b.Cluster) })
}
