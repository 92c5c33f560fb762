// Package fairqueue implements a controller's queue in which no namespace has to wait until everything is done that
// another one requested.
//
//   - Requests with a higher priority come first, as in controller-runtime's queue (priorityqueue.PriorityQueue),
//     whose interface this one implements. Among requests of one priority the namespaces take turns, and within a
//     namespace the oldest comes first.
//   - A large request occupies its worker for long. The number of workers with large requests is bounded (Slots), so
//     that some workers of a controller are always left for others. Only the reconciler finds out how large a request
//     is. It then asks for a slot (Queue.TakeSlot), and stops if there is none. The request then waits in the queue,
//     where again the namespaces take turns, and is handed out with a slot once one is free. Nobody polls meanwhile.
//
// The life of a request:
//
//	added ──▶ ready ──▶ with a worker ──▶ done
//	            ▲            │  no slot
//	      added │            ▼
//	      again └─────── waiting ──▶ with a worker, and a slot ──▶ done
//
// A request that is added again while it waits for a slot becomes ready like any other, since it may not be large any
// more, or its object may be gone. If it is still large it takes its old place. Waiting for a slot counts neither as
// success nor as failure of the request: see ErrWaits.
package fairqueue
