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

// reconnectGrace is for how long a replica that is not heard may have the lines of which it told last: longer than it takes to call one again
// that is there.
const reconnectGrace = 15 * time.Second

// keepLost is how long the end of a line is remembered: longer than anything depends on it.
const keepLost = 10 * time.Minute

// ErrTooMany says that a replica tells of more lines than it can hold.
var ErrTooMany = errors.New("another replica tells of too many lines")

// Replica holds the lines that one other replica reported. The zero value is a replica that has reported nothing yet.
type Replica struct {
	// ID is the name of that replica.
	ID string

	known map[string]lines.State
	// arriving are the lines of a stream that has just begun; nil once they are complete.
	arriving map[string]lines.State
	synced   bool
	// unheard is since when nothing is heard of the lines that were up then; their ends are of that moment.
	unheard time.Time
}

// Begin says that a new stream begins, with which the other tells of all its lines.
func (r *Replica) Begin() { r.arriving, r.synced = map[string]lines.State{}, false }

// Synced says whether all lines of the other are known as they are now.
func (r *Replica) Synced() bool { return r.synced }

// Apply takes in a message, and returns the clusters whose lines changed by it, sorted.
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
			return nil, nil // it counts when it is complete
		}
		changed = r.replace(now)
	}
	return slices.Sorted(maps.Keys(changed)), nil
}

// sameLine is how far apart two accounts of when one line came up may be: messages take time.
const sameLine = 2 * time.Second

// read is a line as the other tells of it. One that was known before has come up when it was said to then, for that tells it from others.
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

// replace takes the lines of a stream that has begun for those of the last one. A line that was up then and is not told of any more has ended while
// nobody told: when is not known, nor why.
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

// end is a line of which nothing is heard any more.
func end(l lines.State, now time.Time) lines.State {
	if l.Up {
		l.Up, l.Lost, l.Goodbye = false, now, true
	}
	return l
}

// Lose says that the other replica is not heard any more. Its lines may be up or not: they count as ended with a goodbye. It returns the clusters
// whose lines changed by that, sorted.
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

// Forget drops ends of lines that are long ago, and says whether anything is left.
func (r *Replica) Forget(now time.Time) bool {
	maps.DeleteFunc(r.known, func(_ string, l lines.State) bool { return !l.Up && now.Sub(l.Lost) > keepLost })
	return len(r.known) > 0 || r.synced || r.arriving != nil
}

// Line returns what the other said of the line of a cluster.
func (r *Replica) Line(cluster string) (lines.State, bool) {
	l, is := r.known[cluster]
	return l, is
}

// Session returns the session of the line that the other has of a cluster, or may have, since it had one when it was heard last, a moment ago. It is
// empty if it has none, or does not tell sessions.
func (r *Replica) Session(cluster string, now time.Time) string {
	l := r.known[cluster]
	if l.Up || !r.unheard.IsZero() && l.Lost.Equal(r.unheard) && now.Sub(r.unheard) < reconnectGrace {
		return l.Session
	}
	return ""
}

// States returns what the other said of the lines of all clusters, by name.
func (r *Replica) States() []lines.State {
	return slices.SortedFunc(maps.Values(r.known), func(a, b lines.State) int { return cmp.Compare(a.Cluster, b.Cluster) })
}
