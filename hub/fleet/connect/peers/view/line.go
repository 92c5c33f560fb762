package view

import (
	"cmp"
	"time"

	"fairlead.dev/hub/fleet/connect/lines"
)

// Line is one replica's report on the line of a cluster.
type Line struct {
	lines.State

	// Replica is that replica.
	Replica string
}

// at is when the line became as it is.
func at(l lines.State) time.Time {
	if l.Up {
		return l.Since
	}
	return l.Lost
}

// Merge returns what counts of what several replicas say of the line of one cluster: a line that is up, and of several the newest. Nothing is known
// of none.
func Merge(said ...Line) (Line, bool) {
	if len(said) == 0 {
		return Line{}, false
	}
	best := said[0]
	for _, l := range said[1:] {
		switch {
		case l.Up != best.Up:
			if l.Up {
				best = l
			}
		case cmp.Or(at(l.State).Compare(at(best.State)), cmp.Compare(best.Replica, l.Replica)) > 0:
			best = l
		}
	}
	return best, true
}
