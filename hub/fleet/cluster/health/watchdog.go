package health

import "time"

// Watchdog tells a hub that was stopped from one that has much to do. It ticks every so often while the process runs. That a
// look at a cluster comes late says nothing of that: when a region is lost hundreds of looks are due at once, each of which
// writes, and those that come last are no less true. The zero value has not ticked yet, and has seen no stop. It goes by the wall clock:
// the monotonic one stands still while a machine is suspended.
type Watchdog struct {
	// Awake is since when the hub has run without a stop; zero if it was never stopped.
	Awake time.Time

	ticked time.Time
}

// Tick returns the watchdog after a tick now: if the one before it was longer ago than the period, the hub had been stopped.
func (w Watchdog) Tick(now time.Time, period time.Duration) Watchdog {
	w = w.Look(now, period)
	w.ticked = now.Round(0)
	return w
}

// Look is a look between two ticks, which may come before the first tick of a hub that was stopped. What a clock that was ahead said, and
// was put back since, is no later than now.
func (w Watchdog) Look(now time.Time, period time.Duration) Watchdog {
	now = now.Round(0)
	if w.Awake.After(now) {
		w.Awake = now
	}
	if !w.ticked.IsZero() && now.Sub(w.ticked) > period {
		w.Awake, w.ticked = now, now
	}
	return w
}

// Answered takes it as a stop if the API did not answer for half of the grace period: where the hub was not heard no
// agent was, and their next renewals had no time yet to arrive.
func (w Watchdog) Answered(asked, now time.Time, grace time.Duration) Watchdog {
	now, asked = now.Round(0), asked.Round(0)
	if now.Sub(asked) > grace/2 {
		w.Awake = now
	}
	return w
}
