package vm

import (
	"context"
	"fmt"
	"time"
)

// Limits for all scripts of a process.
const (
	// maxRunning is how many scripts run concurrently. They are CPU-bound and never block, so more would only take
	// memory.
	maxRunning = 4
	// maxMemory is how many bytes a call may allocate, garbage included, by the meter's count, and minMemory the
	// limit in a process with little memory.
	maxMemory = 128 << 20
	minMemory = 16 << 20
	// memoryShare is the divisor for the share of the process's memory that one call may allocate.
	memoryShare = 4
	// smallShare is the divisor for the part of that which a call may allocate while others run; for more it waits
	// until no other call does.
	smallShare = 16
)

// Limiter is the budget that the scripts of several engines share: a few run concurrently, and only one of them may
// allocate more than a small part of a call's limit. It is safe for concurrent use.
type Limiter struct {
	memory  int
	time    time.Duration
	running chan struct{}
	greedy  chan struct{}
	stopped chan struct{} // closed; the Done channel of a script that is stopped
}

// NewLimiter returns a Limiter for a process with this memory limit in bytes; 0 means unlimited.
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

// begin blocks until a script may run. Unless it fails, the caller calls end afterwards.
func (l *Limiter) begin(ctx context.Context) (end func(), err error) {
	select {
	case l.running <- struct{}{}:
		return func() { <-l.running }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for other scripts to end: %w", context.Cause(ctx))
	}
}

// large blocks until a running script may allocate much. Unless it fails, the caller calls end afterwards.
func (l *Limiter) large(ctx context.Context) (end func(), err error) {
	select {
	case l.greedy <- struct{}{}:
		return func() { <-l.greedy }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for other large scripts to end: %w", context.Cause(ctx))
	}
}
