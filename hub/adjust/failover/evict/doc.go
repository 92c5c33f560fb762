// Package evict decides which clusters an application leaves, and when an eviction has ended. It is pure.
//
// An application is evicted from a cluster because of a NoExecute taint, because the cluster is being removed, or
// because it is unhealthy there. The cluster is removed from the binding's targets, and an eviction task takes its
// place:
//
//	target ──evict──▶ task ──▶ ended: the replacement is healthy                       (Replaced)
//	   ▲                │             the grace period is over                         (TimedOut)
//	   │                │             somebody released the copy                       (Released)
//	   │                │             the cluster does not exist any more              (Gone)
//	   │                │             the cluster is being removed, and no other fits  (Abandoned)
//	   └──── returned ◀─┘ the cause is gone, and the place is still free, or taken by a
//	                      replacement that is not ready yet
//
// A taint of a policy evicts nothing that has no other place. No task ends while its cluster is silent, since its Work
// would be deleted whenever the member comes back; and when it comes back, the copy there stays if the scheduler would
// choose the cluster again. A replacement whose last report is from before this process started does not count as
// healthy until it is known which clusters are silent now.
//
// While a task exists, the scheduler does not choose the cluster, and the Work there stays unchanged, unless the task's
// purge mode is Directly. A copy without a replacement is kept when the grace period is over: it may be the last one. A
// task with Directly lasts until the Work is gone, because it holds the replacements back. A task of the scheduler,
// which found a preferred cluster, does not time out: that would give up a working copy for one that does not work. A
// task for a cluster that the namespace may no longer use times out in any case: otherwise a placement that fits
// nowhere else would keep the cluster.
package evict
