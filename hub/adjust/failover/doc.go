// Package failover moves applications away from clusters that are tainted NoExecute and
// from clusters in which they are not healthy.
//
//	Reads:     bindings, their Works, Clusters, ClusterTaintPolicies.
//	Writes:    spec.clusters of bindings, of which it takes out what leaves and to which
//	           it gives back what returns. Events on bindings, templates and Clusters.
//	Owns:      spec.gracefulEvictionTasks of bindings, their condition Evicting and the
//	           annotations fairlead.dev/evictions and fairlead.dev/evictions-packed, to
//	           all of which the scheduler adds what it leaves for a better place, and of which it ends what it chooses
//	           again; the condition EvictionSuspended of
//	           Clusters.
//	Invariant: an old copy that is left gracefully goes only while its cluster is heard
//	           from, after every target that took its place is healthy, or its grace
//	           period is over and there is another place for it to which dispatching is
//	           not suspended.
//	           One that is left directly holds new ones back until it is gone. A cluster
//	           is read live before it is left, and so are those by whose state that ends.
//	Next:      the scheduler, which finds another place, and the binding stage, which
//	           deletes the Works of clusters that were left.
//
// Before anything is moved because members are silent, the hub asks whether it is
// itself that is cut off: see package disruption.
package failover
