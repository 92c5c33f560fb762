package status

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// partial holds the bindings without a status on which some clusters have reported, and since when. Their first status waits up to
// forOthers for the remaining clusters, so that one write covers all; later reports do not wait.
type partial struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

func newPartial() *partial {
	return &partial{since: map[types.NamespacedName]time.Time{}}
}

// wait returns how much longer to wait; 0 means not at all.
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

// forget drops a deleted binding.
func (p *partial) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.since, key)
}
