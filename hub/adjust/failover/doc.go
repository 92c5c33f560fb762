// Package failover evicts applications from clusters that have a NoExecute taint, that are being removed, or in which
// the application is unhealthy.
//
//	Reads:     bindings, their Works, Clusters and the leases of their agents, ClusterTaintPolicies.
//	Writes:    spec.clusters of bindings: it removes clusters that are left, and restores those that the
//	           application returns to. Events on bindings, templates and Clusters.
//	Owns:      spec.gracefulEvictionTasks of bindings, their condition Evicting, and the annotations
//	           fairlead.dev/evictions and fairlead.dev/evictions-packed. To all of these the scheduler adds
//	           its own evictions in favour of a preferred cluster, and it ends those from clusters that it
//	           chooses again. Also the condition EvictionSuspended of Clusters.
//	Invariant: under a graceful eviction the old copy is deleted only while its cluster is heard from, and
//	           only once every replacement is healthy, or once the grace period is over and the application
//	           has another place to which dispatching is not suspended. Under a direct eviction no
//	           replacement is created until the old copy is gone. A cluster is read live before it is
//	           evicted from, and so are those whose state ends the eviction. A report from before the hub
//	           started does not count as a healthy replacement until it is known which members are silent now.
//	Next:      the scheduler, which finds another place, and the binding stage, which deletes the Works of
//	           clusters that were left.
//
// Before anything is moved because members are silent, the hub checks whether it is cut off itself: see package
// disruption.
package failover
