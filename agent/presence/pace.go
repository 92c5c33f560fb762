package presence

import (
	"time"

	"fairlead.dev/common/contract"
)

const (
	// restEvery is how often the lease is renewed while the line is the sign of life: for the restore check, and for
	// what the lease tells besides.
	restEvery = contract.RestingLease
	// askEvery is how often the API of the hub is asked meanwhile whether it answers.
	askEvery = time.Minute
	// lineLostGrace is how soon after the line was lost the lease is renewed if there is no other line by then, at most
	// three times that. The hub gives up an agent three seconds after its line was lost.
	lineLostGrace = 500 * time.Millisecond
)

// Line is the state of this agent's line, the connection through which the hub sends requests.
type Line struct {
	// Up says that it is open.
	Up bool
	// Presence is contract.LineIsPresence if the hub takes the line for the sign of life, and contract.LeaseIsPresence or
	// empty if not.
	Presence string
	// Opened is when the line was opened that is open, or was last; zero if none ever was. Lost is when the last one was
	// lost; zero while there is one.
	Opened, Lost time.Time
}

// renewsRarely says whether the lease need be renewed rarely.
func (l Line) renewsRarely() bool { return l.Up && l.Presence == contract.LineIsPresence }

// pace is how often the lease is renewed.
type pace struct {
	// interval is how often the lease is renewed without a line, and grace how soon it is after the line was lost.
	interval, grace time.Duration
	// renewed is when a renewal was last tried; zero if none was yet. Opened is when the line was opened that there was then.
	renewed, opened time.Time
	// retry is after how long a renewal that failed is tried again; 0 if the last one did not fail.
	retry time.Duration
	// back is closed when the hub answers another connection, after which the renewal is tried again at once; nil if the last one did
	// not fail.
	back <-chan struct{}
}

// due is when the lease is to be renewed: at once after a line was opened, by which is found out whether the hub is the
// one that the agent knows; soon after the line was lost; and else at the usual interval, which is long while the line
// is the sign of life.
func (p pace) due(l Line) time.Time {
	switch {
	case p.renewed.IsZero(), l.Up && !l.Opened.Equal(p.opened):
		return time.Time{}
	case p.retry > 0:
		return p.renewed.Add(p.retry)
	case l.renewsRarely():
		return p.renewed.Add(max(restEvery, p.interval))
	case !l.Up && !l.Lost.IsZero() && !p.renewed.After(l.Lost):
		return l.Lost.Add(p.grace)
	default:
		return p.renewed.Add(p.interval)
	}
}
