package status

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// renderTimeout is how long the Works of a changed binding may take to show the change. If none does by then, the change affects none.
const renderTimeout = 10 * time.Second

// renders holds the bindings that changed and whose Works are about to change. Reports on the earlier Works imply nothing about the
// change.
type renders struct {
	mu       sync.Mutex
	bindings map[types.NamespacedName]*render
}

type render struct {
	// began is when the binding changed, last when a Work last changed, and works how many Works changed.
	began, last time.Time
	works       int
}

func newRenders() *renders {
	return &renders{bindings: map[types.NamespacedName]*render{}}
}

// begin records that a binding changed.
func (r *renders) begin(key types.NamespacedName, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bindings[key] = &render{began: now}
}

// work records that the spec of a Work of a binding changed.
func (r *renders) work(key types.NamespacedName, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b, ok := r.bindings[key]; ok {
		b.works++
		b.last = now
	}
}

// wait returns for how long the Works of a binding, given their number, may not show its change yet; 0 if they do. A change may affect
// only some of the Works.
func (r *renders) wait(key types.NamespacedName, works int, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.bindings[key]
	if !ok {
		return 0
	}
	until := b.began.Add(renderTimeout)
	if settled := b.last.Add(settleDown); b.works > 0 && settled.Before(until) {
		until = settled
	}
	if b.works >= works || !now.Before(until) {
		delete(r.bindings, key)
		return 0
	}
	return until.Sub(now)
}

// forget drops a deleted binding.
func (r *renders) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.bindings, key)
}
