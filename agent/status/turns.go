package status

import (
	"cmp"
	"sync"
)

// turns bounds how many Works are written at a time, to what may be another number each time. It is safe for use by many goroutines.
type turns struct {
	mu    sync.Mutex
	freed *sync.Cond
	taken int
}

// take waits for a turn.
func (t *turns) take(allowed func() int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.freed == nil {
		t.freed = sync.NewCond(&t.mu)
	}
	for t.taken >= allowed() {
		t.freed.Wait()
	}
	t.taken++
}

// giveBack ends a turn. Whoever waits looks again how many there may be.
func (t *turns) giveBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken--
	t.freed.Broadcast()
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
