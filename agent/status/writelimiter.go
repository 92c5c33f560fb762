package status

import (
	"cmp"
	"sync"
)

// writeLimiter bounds how many Works are written concurrently, by a limit that may change. It is safe for concurrent
// use.
type writeLimiter struct {
	mu    sync.Mutex
	freed *sync.Cond
	taken int
}

// acquire blocks until another Work may be written.
func (l *writeLimiter) acquire(allowed func() int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.freed == nil {
		l.freed = sync.NewCond(&l.mu)
	}
	for l.taken >= allowed() {
		l.freed.Wait()
	}
	l.taken++
}

// release records that a write has finished. Waiters then check the limit again.
func (l *writeLimiter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken--
	l.freed.Broadcast()
}

// allowed returns how many Works may be written concurrently at present. Where answers travel for long, the same
// number would keep the hub less busy.
func (r *Reporter) allowed() int {
	if r.workers == 0 && r.isSlow != nil && r.isSlow() {
		return slowWorkers
	}
	return cmp.Or(r.workers, defaultWorkers)
}

// mostWorkers returns the maximum of allowed.
func (r *Reporter) mostWorkers() int {
	if r.workers == 0 && r.isSlow != nil {
		return slowWorkers
	}
	return cmp.Or(r.workers, defaultWorkers)
}
