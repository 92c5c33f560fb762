package health

import "time"

// Pulse tells a hub that was stopped from one that has much to do. It beats every so often while the process runs. That a
// look at a cluster comes late says nothing of that: when a region is lost hundreds of looks are due at once, each of which
// writes, and those that come last are no less true. The zero value does not beat yet, and has seen no stop.
type Pulse struct {
	// Awake is since when the hub has run without a stop; zero if it was never stopped.
	Awake time.Time

	beat time.Time
}

// Beat returns the pulse after a beat now: if the one before it was longer ago than the period, the hub had been stopped.
func (p Pulse) Beat(now time.Time, period time.Duration) Pulse {
	p = p.Look(now, period)
	p.beat = now
	return p
}

// Look is a look between two beats, which may come before the first beat of a hub that was stopped.
func (p Pulse) Look(now time.Time, period time.Duration) Pulse {
	if !p.beat.IsZero() && now.Sub(p.beat) > period {
		p.Awake, p.beat = now, now
	}
	return p
}

// Answered takes it as a stop if the API did not answer for half of the grace period: where the hub was not heard no
// agent was, and their next renewals had no time yet to arrive.
func (p Pulse) Answered(asked, now time.Time, grace time.Duration) Pulse {
	if now.Sub(asked) > grace/2 {
		p.Awake = now
	}
	return p
}
