package scheduler

import (
	"math"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/hub/flow/scheduler/hints"
)

// changesDelay batches the changes of many clusters, as when a region is lost or comes back, into one search for affected bindings.
const changesDelay = 20 * time.Millisecond

// changes collects changes of clusters until the affected bindings are enqueued. It is safe for concurrent use.
type changes struct {
	mu    sync.Mutex
	noted []hints.Change
	queue requests
}

// note adds changes, and sets the queue for the affected bindings. It returns whether there were none before, so that the caller must
// enqueue lookAtChanges.
func (c *changes) note(q requests, more ...hints.Change) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := len(c.noted) == 0
	c.noted, c.queue = append(c.noted, more...), q
	return first
}

// take removes and returns the collected changes, with the queue.
func (c *changes) take() ([]hints.Change, requests) {
	c.mu.Lock()
	defer c.mu.Unlock()
	noted := c.noted
	c.noted = nil
	return noted, c.queue
}

// lookAtChanges is the request to process the collected changes. No binding has its empty name.
func lookAtChanges() reconcile.Request { return reconcile.Request{} }

// enqueueChanges enqueues lookAtChanges with the highest priority. The bindings that it finds are enqueued with their own.
func enqueueChanges(q requests) {
	if pq, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		pq.AddWithOpts(priorityqueue.AddOpts{After: changesDelay, Priority: new(math.MaxInt)}, lookAtChanges())
		return
	}
	q.AddAfter(lookAtChanges(), changesDelay)
}
