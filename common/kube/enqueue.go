package kube

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// EnqueueLast adds requests behind all others in the queue. It is for a change that affects many objects, which must
// not delay an object that a person just changed.
func EnqueueLast(q workqueue.TypedRateLimitingInterface[reconcile.Request], requests ...reconcile.Request) {
	EnqueueLastAfter(q, 0, requests...)
}

// EnqueueLastAfter is EnqueueLast after a delay. A request that is already in the queue is not delayed.
func EnqueueLastAfter(q workqueue.TypedRateLimitingInterface[reconcile.Request], after time.Duration, requests ...reconcile.Request) {
	if pq, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		pq.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(handler.LowPriority), After: after}, requests...)
		return
	}
	for _, r := range requests {
		if after > 0 {
			q.AddAfter(r, after)
		} else {
			q.Add(r)
		}
	}
}

// EnqueueBindings adds requests for those bindings that a change affects, behind all others in the queue.
func EnqueueBindings(q workqueue.TypedRateLimitingInterface[reconcile.Request], of []Binding, concerned func(Binding) bool) {
	var requests []reconcile.Request
	for _, b := range of {
		if concerned(b) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		}
	}
	EnqueueLast(q, requests...)
}
