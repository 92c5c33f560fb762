package fairqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// delayed is a request that is to be added later.
type delayed struct {
	// priority is the highest of the priorities with which it is to be added.
	priority int
}

// due is a time at which a request is to be added, unless it has been added since.
type due struct {
	request reconcile.Request
	of      *delayed
}

// addLater adds a request after a delay: the shortest of all delays with which it is added. A request that is ready
// is not delayed.
func (q *Queue) addLater(req reconcile.Request, priority int, after time.Duration) {
	q.later.AddAfter(due{request: req, of: q.delay(req, priority)}, after) // AddAfter also counts it as a retry
}

func (q *Queue) delay(req reconcile.Request, priority int) *delayed {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.delays[req]
	switch {
	case q.order.isReady(req):
		q.order.add(req, priority)
		return nil
	case of == nil:
		of = &delayed{priority: priority}
		q.delays[req] = of
	default:
		of.priority = max(of.priority, priority)
	}
	return of
}

// addDue adds a request whose delay is over.
func (q *Queue) addDue(at due) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if of := q.delays[at.request]; of != nil && of == at.of {
		q.addNow(at.request, of.priority)
	}
}

// dueQueue receives the requests whose delay is over.
type dueQueue struct{ queue *Queue }

// Add implements workqueue.TypedInterface.
func (d dueQueue) Add(at due) { d.queue.addDue(at) }

// ShuttingDown implements workqueue.TypedInterface.
func (d dueQueue) ShuttingDown() bool { return d.queue.ShuttingDown() }

// The other methods are never called: due requests go to the Queue, and workers take them from there.
var _ workqueue.TypedInterface[due] = dueQueue{}

// Len implements workqueue.TypedInterface.
func (dueQueue) Len() int { return 0 }

// Get implements workqueue.TypedInterface.
func (dueQueue) Get() (due, bool) { return due{}, true }

// Done implements workqueue.TypedInterface.
func (dueQueue) Done(due) {}

// ShutDown implements workqueue.TypedInterface.
func (dueQueue) ShutDown() {}

// ShutDownWithDrain implements workqueue.TypedInterface.
func (dueQueue) ShutDownWithDrain() {}
