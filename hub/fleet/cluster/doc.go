// Package cluster keeps the hub's record of each member: where its Works are, whether
// it is heard from, which taints follow, and its removal.
//
//	Reads:     Clusters; leases in karmada-cluster; ClusterTaintPolicies; namespaces, and
//	           when a Cluster is deleted, its Works and the targets of all bindings.
//	Writes:    execution namespaces; the finalizer, the execution namespace and the usual
//	           capacity of a Cluster (annotations).
//	Owns:      Ready=Unknown, CapacityJumped, the taints not-ready and unreachable (NoSchedule), those of
//	           ClusterTaintPolicies and the timeAdded of NoExecute taints.
//	Invariant: Ready is never set to True or False here. A Cluster is gone only after
//	           its execution namespace, and that only after its Works.
//	Next:      the scheduler, which reads taints and deletion timestamps, and failover,
//	           which reads NoExecute taints.
//
// A Cluster is removed in this order, so that the agent can still do its part: failover
// evicts all bindings from it, and no copy goes before its replacement is healthy, or it is
// known that there is none; its Works are deleted, and the agent
// removes their objects from the member; then the execution namespace goes, with the
// agent's rights in it. If the agent is not there, the finalizers of its Works are
// removed in its place and the objects stay in the member. The same is done when somebody
// deletes the execution namespace of a Cluster that stays: it is then made anew.
package cluster
