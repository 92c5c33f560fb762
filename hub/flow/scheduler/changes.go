package scheduler

import (
	"math"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/hub/flow/scheduler/hints"
)

// changesDelay lets the changes of many clusters become one look at bindings: a region is lost, or comes back, at once.
const changesDelay = 20 * time.Millisecond

// changes are those of clusters, until it was looked which bindings they concern. It is safe for use by many
// goroutines.
type changes struct {
	mu    sync.Mutex
	noted []hints.Change
	queue requests
}

// note takes changes, and the queue for the bindings that they concern. It says whether nothing was noted before, so
// that a look is to be asked for.
func (c *changes) note(q requests, more ...hints.Change) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := len(c.noted) == 0
	c.noted, c.queue = append(c.noted, more...), q
	return first
}

// take returns what was noted, which is noted no longer.
func (c *changes) take() ([]hints.Change, requests) {
	c.mu.Lock()
	defer c.mu.Unlock()
	noted := c.noted
	c.noted = nil
	return noted, c.queue
}

// lookAtChanges stands in the queue of bindings for a look at what was noted. No binding has this name.
func lookAtChanges() reconcile.Request { return reconcile.Request{} }

// enqueueChanges asks for that look, before whatever else waits: what it finds has a place of its own in the queue.
func enqueueChanges(q requests) {
	if pq, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		pq.AddWithOpts(priorityqueue.AddOpts{After: changesDelay, Priority: new(math.MaxInt)}, lookAtChanges())
		return
	}
	q.AddAfter(lookAtChanges(), changesDelay)
}
