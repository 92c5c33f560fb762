// Package evict decides which clusters an application leaves, and when it has left them.
// It only thinks.
//
// An application leaves a cluster because of a NoExecute taint, because the cluster is being
// removed, or because it is not healthy there. The cluster is taken out of the binding's targets and a task is put
// down instead:
//
//	target ──evict──▶ task ──▶ ended: who took its place is healthy    (Replaced)
//	   ▲                │             the grace period is over         (TimedOut)
//	   │                │             somebody let it go               (Released)
//	   │                │             the cluster is gone              (Gone)
//	   │                │             it is going, and no other fits   (Abandoned)
//	   └──── returned ◀─┘ the cause is gone, and its place is still free, or taken by what
//	                      is not ready yet
//
// Nothing is left because of a taint of a policy that has no other place, and no task ends
// while its cluster is silent: what is deleted then is deleted in the member whenever it comes
// back. When it does, the copy there stays if the scheduler would choose the cluster again.
//
// While there is a task, the scheduler does not choose the cluster, and, unless the task
// says Directly, the Work there stays as it is. A copy that has no replacement is not
// given up when the grace period is over: it may be the last. A task that says Directly
// lasts until the Work there is gone, because it holds new ones back. One of the scheduler,
// which found a place that is preferred, is not over by time: it would give up a copy that
// works for one that does not. One of a cluster that the namespace may not use any more is over
// by time in any case: else a placement that fits nowhere else would keep the cluster.
package evict
