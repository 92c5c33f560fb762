package presence

import (
	"time"

	"fairlead.dev/common/contract"
)

const (
	// restEvery is the renewal interval while the line is the heartbeat. These renewals detect a restored hub and
	// write pending annotations.
	restEvery = contract.RestingLease
	// askEvery is the interval at which the agent meanwhile checks that the hub's API answers.
	askEvery = time.Minute
	// lineLostGrace is the minimum delay of the renewal after the line was lost, unless there is another line by
	// then; the maximum is three times as long. The hub counts an agent as lost three seconds after its line was
	// lost.
	lineLostGrace = 500 * time.Millisecond
)

// Line is the state of this agent's line, the connection through which the hub sends requests.
type Line struct {
	// Up says that the line is open.
	Up bool
	// Presence is contract.LineIsPresence if the hub takes the line as the heartbeat, and contract.LeaseIsPresence or empty if it does not.
	Presence string
	// Opened is when the newest line was opened; zero if there never was one. Lost is when it was lost; zero while it is open.
	Opened, Lost time.Time
}

// renewsRarely returns whether the line is the heartbeat, so that the lease is renewed only every restEvery.
func (l Line) renewsRarely() bool { return l.Up && l.Presence == contract.LineIsPresence }

// pace decides when the lease is due.
type pace struct {
	// interval is the interval of renewals without a line, and grace the delay of the renewal after a line was lost.
	interval, grace time.Duration
	// renewed is when the last renewal was tried; zero if none was. opened is Line.Opened at that time.
	renewed, opened time.Time
	// retry is the delay after which a failed renewal is tried again; 0 if the last one succeeded.
	retry time.Duration
	// back is closed when the hub answers again; a failed renewal is then retried at once. It is nil if the last
	// renewal succeeded.
	back <-chan struct{}
}

// due returns when the lease is to be renewed: at once after a line was opened, to detect a restored hub; soon after
// the line was lost; and otherwise at the usual interval, which is long while the line is the heartbeat.
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
