package plan

import "time"

const (
	// freely is how many times an object is corrected immediately.
	freely = 5
	// firstPause is the delay after that; it doubles up to lastPause.
	firstPause = 100 * time.Millisecond
	lastPause  = 30 * time.Second
	// calm is how long an object must be left alone before it is corrected immediately again. It exceeds the longest
	// delay.
	calm = 2 * lastPause
)

// Pace throttles repeated applies of the same manifest: somebody in the member reverts them, and would do so for
// ever, as fast as we apply. Its zero value is that of an object that was not sent yet.
type Pace struct {
	manifest Digest
	times    int
	last     time.Time
}

// Due returns how long to wait before a manifest is sent; 0 means not at all.
func (p Pace) Due(manifest Digest, now time.Time) time.Duration {
	if manifest != p.manifest || p.times < freely {
		return 0
	}
	pause := firstPause
	for i := freely; i < p.times && pause < lastPause; i++ {
		pause *= 2
	}
	return max(0, p.last.Add(min(pause, lastPause)).Sub(now))
}

// Sent records that a manifest was sent and changed the object.
func (p Pace) Sent(manifest Digest, now time.Time) Pace {
	if manifest != p.manifest || now.Sub(p.last) > calm {
		return Pace{manifest: manifest, times: 1, last: now}
	}
	return Pace{manifest: manifest, times: p.times + 1, last: now}
}
