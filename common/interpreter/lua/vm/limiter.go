package vm

import (
	"context"
	"fmt"
	"time"
)

// Limits of all scripts of a process.
const (
	// maxRunning is how many scripts run at once. They take processors and wait for nothing, so
	// more would only take memory.
	maxRunning = 4
	// maxMemory is how many bytes a call may allocate, garbage included, by the meter's
	// reckoning, and minMemory what it may where the process itself has little.
	maxMemory = 128 << 20
	minMemory = 16 << 20
	// memoryShare is which part of the memory of the process one call may allocate.
	memoryShare = 4
	// smallShare is which part of that a call may allocate while others run; for more it waits
	// until it is the only one that does.
	smallShare = 16
)

// Limiter is the budget that the scripts of several engines share: a few run at once, and only
// one of these may allocate more than a small part of what a call may. It is safe for use by
// many goroutines.
type Limiter struct {
	memory  int
	time    time.Duration
	running chan struct{}
	greedy  chan struct{}
	stopped chan struct{} // closed: what the context of a script is that is stopped
}

// NewLimiter returns one for a process that may have so many bytes of memory; 0 for any number.
func NewLimiter(memory int64) *Limiter {
	l := &Limiter{
		memory: maxMemory, time: maxTime,
		running: make(chan struct{}, maxRunning), greedy: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	close(l.stopped)
	if memory > 0 {
		l.memory = int(min(max(memory/memoryShare, minMemory), maxMemory))
	}
	return l
}

// begin waits until a script may run. Who got no error calls the function when it has run.
func (l *Limiter) begin(ctx context.Context) (end func(), err error) {
	select {
	case l.running <- struct{}{}:
		return func() { <-l.running }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for other scripts to end: %w", context.Cause(ctx))
	}
}

// large waits until a script that runs may allocate much. Who got no error calls the function
// when it has run.
func (l *Limiter) large(ctx context.Context) (end func(), err error) {
	select {
	case l.greedy <- struct{}{}:
		return func() { <-l.greedy }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for other large scripts to end: %w", context.Cause(ctx))
	}
}
