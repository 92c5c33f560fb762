package kube

import (
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// EnqueueLast adds requests behind everything that is there already: for a change
// that concerns many objects, which must not delay what somebody just changed.
func EnqueueLast(q workqueue.TypedRateLimitingInterface[reconcile.Request], requests ...reconcile.Request) {
	if pq, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		pq.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(handler.LowPriority)}, requests...)
		return
	}
	for _, r := range requests {
		q.Add(r)
	}
}
