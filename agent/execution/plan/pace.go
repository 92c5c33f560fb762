package plan

import "time"

const (
	// freely is how often an object is put back at once.
	freely = 5
	// firstPause is the pause after that; it doubles up to lastPause.
	firstPause = 100 * time.Millisecond
	lastPause  = 30 * time.Second
	// calm is how long an object must be left alone to be put back at once again. It is
	// more than the longest pause.
	calm = 2 * lastPause
)

// Pace slows down what is sent again and again although nothing new is asked for: somebody
// in the member changes it back, and would do so for ever, as fast as we are. Its zero
// value is that of an object that was not sent yet.
type Pace struct {
	manifest Digest
	times    int
	last     time.Time
}

// Due returns how long to wait before a manifest is sent; 0 is not at all.
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

// Sent notes that a manifest was sent and changed the object.
func (p Pace) Sent(manifest Digest, now time.Time) Pace {
	if manifest != p.manifest || now.Sub(p.last) > calm {
		return Pace{manifest: manifest, times: 1, last: now}
	}
	return Pace{manifest: manifest, times: p.times + 1, last: now}
}
