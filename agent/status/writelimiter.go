package status

import (
	"cmp"
	"sync"
)

// writeLimiter bounds how many Works are written at a time, to what may be another number each time. It is safe for use by many goroutines.
type writeLimiter struct {
	mu    sync.Mutex
	freed *sync.Cond
	taken int
}

// acquire waits until one more may be written.
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

// release says that one is written. Whoever waits looks again how many there may be.
func (l *writeLimiter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken--
	l.freed.Broadcast()
}

// allowed is how many Works may be written at the moment. Where an answer takes long on its way, the hub has less to do with the same number.
func (r *Reporter) allowed() int {
	if r.workers == 0 && r.isSlow != nil && r.isSlow() {
		return slowWorkers
	}
	return cmp.Or(r.workers, defaultWorkers)
}

// mostWorkers is how many there may be at any time.
func (r *Reporter) mostWorkers() int {
	if r.workers == 0 && r.isSlow != nil {
		return slowWorkers
	}
	return cmp.Or(r.workers, defaultWorkers)
}
