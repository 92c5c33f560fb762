package view

import (
	"slices"
	"time"

	"fairlead.dev/hub/fleet/connect/lines"
	"fairlead.dev/hub/fleet/connect/peers/wire"
)

// Updates remembers which states of this replica's lines another replica was sent.
type Updates struct{ states map[string]lines.State }

// Next returns the messages that bring the other replica up to date, and remembers that it is.
func (t *Updates) Next(states []lines.State, now time.Time) []wire.Message {
	ago := func(at time.Time) int64 { return max(now.Sub(at).Milliseconds(), 0) }
	var changed []wire.Line
	is := make(map[string]lines.State, len(states))
	for _, s := range states {
		is[s.Cluster] = s
		if before, known := t.states[s.Cluster]; known && before == s {
			continue
		}
		l := wire.Line{Cluster: s.Cluster, Up: s.Up, SinceAgo: ago(s.Since), Goodbye: s.Goodbye, Presence: s.Presence, Operators: s.Operators, Session: s.Session}
		if !s.Up {
			l.LostAgo = ago(s.Lost)
		}
		changed = append(changed, l)
	}
	var gone []string
	for name := range t.states {
		if _, still := is[name]; !still {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	t.states = is
	return wire.Split(changed, gone)
}
