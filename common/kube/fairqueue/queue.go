package fairqueue

import (
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// ErrWaits is returned by a reconciler that may not go on with a large request. The queue keeps the request until
// there is a slot. It counts neither as success, which would reset the retry delay, nor as failure, which would
// increase it: see kube.QuietConflicts.
var ErrWaits = errors.New("the request waits until fewer large ones are being worked on")

// Queue is the queue of one controller. It is safe for concurrent use.
type Queue struct {
	mu    sync.Mutex
	wake  *sync.Cond
	order *order
	// delays are the requests that are to be added later.
	delays  map[reconcile.Request]*delayed
	stopped bool

	// Start sets these fields.
	limiter workqueue.TypedRateLimiter[reconcile.Request]
	later   workqueue.TypedDelayingInterface[due]
	metrics *metrics
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = &Queue{}

// New returns a queue. It hands out nothing before Start.
func New(slots Slots) *Queue {
	q := &Queue{order: newOrder(slots), delays: map[reconcile.Request]*delayed{}}
	q.wake = sync.NewCond(&q.mu)
	return q
}

// Start starts the queue. A controller calls it once, as its NewQueue.
func (q *Queue) Start(
	controller string, limiter workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	q.limiter, q.metrics = limiter, newMetrics(controller)
	q.later = workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[due]{Name: controller, Queue: dueQueue{q}})
	return q
}

// TakeSlot is for a reconciler that found that its request is a large one. If the error is nil, it may go on, and
// holds a slot until it is done. Otherwise it has to return the error, ErrWaits: it is called again when there is a
// slot, which it then already holds.
func (q *Queue) TakeSlot(req reconcile.Request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.order.takeSlot(req) {
		return ErrWaits
	}
	return nil
}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (q *Queue) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	if q.ShuttingDown() {
		return
	}
	priority := ptr.Deref(o.Priority, 0)
	for _, req := range requests {
		after := o.After
		if o.RateLimited {
			if limited := q.limiter.When(req); after == 0 || limited < after {
				after = limited
			}
		}
		if after > 0 {
			q.addLater(req, priority, after)
		} else {
			q.add(req, priority)
		}
	}
}

// Add implements workqueue.TypedInterface.
func (q *Queue) Add(req reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, req) }

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *Queue) AddAfter(req reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, req)
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *Queue) AddRateLimited(req reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, req)
}

func (q *Queue) add(req reconcile.Request, priority int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addNow(req, priority)
}

// addNow adds a request, and cancels its delayed additions, which it includes.
func (q *Queue) addNow(req reconcile.Request, priority int) {
	if q.stopped {
		return
	}
	if of := q.delays[req]; of != nil {
		priority = max(priority, of.priority)
		delete(q.delays, req)
	}
	q.order.add(req, priority)
	q.metrics.added(req)
	q.wake.Signal()
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (q *Queue) GetWithPriority() (req reconcile.Request, priority int, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.stopped {
		if req, priority, ok := q.order.pop(); ok {
			q.metrics.began(req)
			return req, priority, false
		}
		q.wake.Wait()
	}
	return reconcile.Request{}, 0, true
}

// Get implements workqueue.TypedInterface.
func (q *Queue) Get() (req reconcile.Request, shutdown bool) {
	req, _, shutdown = q.GetWithPriority()
	return req, shutdown
}

// Done implements workqueue.TypedInterface.
func (q *Queue) Done(req reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.order.isRefused(req) {
		q.metrics.added(req) // it stays in the queue, waiting
	}
	q.order.done(req)
	q.metrics.ended(req)
	q.wake.Broadcast() // it may have released a slot, or be ready again
}

// Forget implements workqueue.TypedRateLimitingInterface. The controller also calls it for a request that waits for a
// slot; the retry delay is kept then.
func (q *Queue) Forget(req reconcile.Request) {
	q.mu.Lock()
	refused := q.order.isRefused(req)
	q.mu.Unlock()
	if !refused {
		q.limiter.Forget(req)
	}
}

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (q *Queue) NumRequeues(req reconcile.Request) int { return q.limiter.NumRequeues(req) }

// Len implements workqueue.TypedInterface. It includes requests that wait for a slot.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.order.ready.size + q.order.waiting.size
}

// ShutDown implements workqueue.TypedInterface. Nothing is handed out afterwards.
func (q *Queue) ShutDown() {
	q.mu.Lock()
	q.stopped = true
	q.wake.Broadcast()
	q.mu.Unlock()
	q.later.ShutDown()
	q.metrics.end()
}

// ShutDownWithDrain implements workqueue.TypedInterface. Like controller-runtime's, it does not wait.
func (q *Queue) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown implements workqueue.TypedInterface.
func (q *Queue) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stopped
}
