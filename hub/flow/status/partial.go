package status

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// partial are the bindings of which some clusters have reported for the first time,
// and since when. Their first status waits up to forOthers for the other clusters, so
// that one write says all; after that nobody waits for anybody.
type partial struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

func newPartial() *partial {
	return &partial{since: map[types.NamespacedName]time.Time{}}
}

// wait returns how long to wait yet, 0 for not at all.
func (p *partial) wait(key types.NamespacedName, isPartial bool, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !isPartial {
		delete(p.since, key)
		return 0
	}
	since, ok := p.since[key]
	if !ok {
		since = now
		p.since[key] = now
	}
	return max(0, since.Add(forOthers).Sub(now))
}

// forget drops what is known of a binding that is gone.
func (p *partial) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.since, key)
}
