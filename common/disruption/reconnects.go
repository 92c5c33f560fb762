package disruption

import (
	"sync"
	"time"
)

// MostStartGrace is the maximum time that a started hub waits for members that come back one after the other.
const MostStartGrace = 5 * time.Minute

// HeardBy returns until when members have time to contact a process that began to follow them at began: for the grace
// of a start, which is StartGrace or none. While other known members keep coming back, the last one at reconnected,
// the rest may still be queueing at the API, which accepts a few at a time: the wait ends half of the grace after the
// last one. A fleet whose members come and go does not extend that for ever, see MostStartGrace.
func HeardBy(began, reconnected time.Time, grace time.Duration) time.Time {
	end := began.Add(grace)
	if grace <= 0 {
		return end
	}
	if waits := reconnected.Add(grace / 2); waits.After(end) {
		end = waits
	}
	if most := began.Add(max(grace, MostStartGrace)); end.After(most) {
		end = most
	}
	return end
}

// Reconnects records when members come back to a hub that was started, for all stages that wait for them. Each member
// is noted once per start, so that one that comes and goes extends nothing. The zero value has no record. It is safe
// for concurrent use.
type Reconnects struct {
	mu   sync.Mutex
	last time.Time
}

// Note records that a member came back that had not been heard from since the hub started.
func (r *Reconnects) Note(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = now.Round(0)
}

// Last returns when a member last came back; zero if none did. A time in the future, from before the clock was set
// back, counts as now.
func (r *Reconnects) Last(now time.Time) time.Time {
	now = now.Round(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.After(now) {
		r.last = now
	}
	return r.last
}

// HeardBy returns until when members have time to contact a stage that began to follow them at began, given the
// silence after which the hub considers members with only a lease lost.
func (r *Reconnects) HeardBy(began, now time.Time, silence time.Duration) time.Time {
	return HeardBy(began, r.Last(now), StartGrace(silence))
}
