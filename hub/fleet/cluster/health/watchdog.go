package health

import "time"

// Watchdog tells whether the hub's process was suspended, as opposed to busy. It ticks at an interval while the process runs. A late
// decision about a cluster is no sign of a suspension: when a region fails, hundreds of decisions are due at once, and each of them writes.
// The zero value has not ticked yet. It uses the wall clock, since the monotonic clock stands still while a machine is suspended.
type Watchdog struct {
	// Awake is since when the hub has run without a suspension; zero if there was none.
	Awake time.Time

	ticked time.Time
}

// Tick returns the watchdog after a tick: if the tick before was longer ago than the period, the hub was suspended.
func (w Watchdog) Tick(now time.Time, period time.Duration) Watchdog {
	w = w.Look(now, period)
	w.ticked = now.Round(0)
	return w
}

// Look checks for a suspension between two ticks, since a decision may be made before the first tick after it. A time from a clock that was
// ahead, and was set back since, counts as now.
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

// Answered counts it as a suspension if the API did not answer for half of the grace period: no agent could reach it either, and their next
// renewals may not have arrived yet.
func (w Watchdog) Answered(asked, now time.Time, grace time.Duration) Watchdog {
	now, asked = now.Round(0), asked.Round(0)
	if now.Sub(asked) > grace/2 {
		w.Awake = now
	}
	return w
}
