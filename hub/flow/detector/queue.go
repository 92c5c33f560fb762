package detector

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

// queue is the queue of the controller. It is set before the first worker runs.
type queue struct {
	requests workqueue.TypedRateLimitingInterface[request]
}

// now adds requests in the order of their arrival. It is for changes made by users.
func (q *queue) now(requests ...request) {
	for _, req := range requests {
		q.requests.Add(req)
	}
}

// last adds requests with low priority, behind all changes. It is for what affects many objects at once.
func (q *queue) last(requests ...request) {
	pq, ok := q.requests.(priorityqueue.PriorityQueue[request])
	if !ok {
		q.now(requests...)
		return
	}
	pq.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(handler.LowPriority)}, requests...)
}

// after adds a request after a delay.
func (q *queue) after(delay time.Duration, req request) { q.requests.AddAfter(req, delay) }
