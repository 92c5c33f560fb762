package evict

import (
	"time"
)

// overdue is how long a slot is kept for who does not come.
const overdue = 10 * time.Second

// RateLimiter lets applications leave failed clusters one after the other, so that what looks
// like a failure and is none does little harm until somebody sees it. Each zone of failure has a
// limit of its own: one that has failed does not hold up the others. It is for one goroutine at
// a time.
type RateLimiter struct {
	every time.Duration
	zones map[string]*zone
}

// zone is what fails together.
type zone struct {
	// taken is when the last slot was taken, and next the first that nobody waits for.
	taken, next time.Time
	waiting     map[string]time.Time
}

// NewRateLimiter returns a limit of so many evictions a second in each zone; 0 and less is no limit.
func NewRateLimiter(perSecond float64) *RateLimiter {
	p := &RateLimiter{zones: map[string]*zone{}}
	if perSecond > 0 {
		p.every = time.Duration(float64(time.Second) / perSecond)
	}
	return p
}

// Ask returns how long the rate limit of a zone makes a name wait; 0 is not at all, and then
// its slot is used up. Who asks again keeps its slot, unless it asks much too late: slots are
// not saved up.
func (p *RateLimiter) Ask(in, name string, now time.Time) time.Duration {
	if p.every == 0 {
		return 0
	}
	z := p.zones[in]
	if z == nil {
		z = &zone{waiting: map[string]time.Time{}}
		p.zones[in] = z
	}
	at, ok := z.waiting[name]
	if ok && now.Sub(at) > overdue {
		p.Forget(in, name)
		ok = false
	}
	if !ok {
		at = z.next
		if at.Before(now) {
			at = now
		}
		z.next = at.Add(p.every)
	}
	if at.After(now) {
		z.waiting[name] = at
		return at.Sub(now)
	}
	delete(z.waiting, name)
	z.taken = now
	return 0
}

// Forget gives up the slot of a name in a zone. When nobody waits any more, who comes
// next does not wait for those who left.
func (p *RateLimiter) Forget(in, name string) {
	z := p.zones[in]
	if z == nil {
		return
	}
	if _, ok := z.waiting[name]; !ok {
		return
	}
	delete(z.waiting, name)
	if len(z.waiting) == 0 {
		z.next = z.taken.Add(p.every)
	}
}
