package view

import (
	"cmp"
	"time"

	"fairlead.dev/hub/fleet/connect/lines"
)

// Line is one replica's report on the line of a cluster.
type Line struct {
	lines.State

	// Replica is the name of the replica that reported the line.
	Replica string
}

// at returns when the line entered its present state.
func at(l lines.State) time.Time {
	if l.Up {
		return l.Since
	}
	return l.Lost
}

// Merge chooses among several replicas' reports on the line of one cluster: an open line, and of several the newest. It returns false if
// there are no reports.
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
