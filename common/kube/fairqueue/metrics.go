package fairqueue

import (
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// metrics maintains the usual workqueue metrics (workqueue_depth and others) for a queue. Only a workqueue of
// client-go can write them, so one is fed with all that happens, without being used otherwise. Requests that wait for
// a slot count like those that wait for a worker. It is not safe for concurrent use.
type metrics struct {
	told *workqueue.Typed[reconcile.Request]
	next *handedOut
}

func newMetrics(name string) *metrics {
	next := &handedOut{}
	return &metrics{next: next, told: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: next})}
}

// added records that a request is in the queue, possibly again.
func (m *metrics) added(req reconcile.Request) { m.told.Add(req) }

// began records that a worker took a request from the queue.
func (m *metrics) began(req reconcile.Request) {
	m.next.request = req
	m.told.Get()
}

// ended records that a worker is done with a request.
func (m *metrics) ended(req reconcile.Request) { m.told.Done(req) }

// end stops the metrics.
func (m *metrics) end() { m.told.ShutDown() }

// handedOut replaces the order of that workqueue: its Pop returns the request that was handed out.
type handedOut struct{ request reconcile.Request }

// Touch implements workqueue.Queue.
func (*handedOut) Touch(reconcile.Request) {}

// Push implements workqueue.Queue.
func (*handedOut) Push(reconcile.Request) {}

// Len implements workqueue.Queue. It is never 0, so that Get never blocks.
func (*handedOut) Len() int { return 1 }

// Pop implements workqueue.Queue.
func (h *handedOut) Pop() reconcile.Request { return h.request }
