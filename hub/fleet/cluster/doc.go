// Package cluster keeps the hub's record of each member: where its Works are, whether
// it is heard from, which taints follow, and its removal.
//
//	Reads:     Clusters; leases in karmada-cluster; which agents have a line open to the hub, which is not
//	           written anywhere; ClusterTaintPolicies; namespaces, and
//	           when a Cluster is deleted, its Works and the targets of all bindings.
//	Writes:    execution namespaces, with the label that names their cluster; the finalizer, the execution namespace and the usual
//	           capacity of a Cluster (annotations).
//	Owns:      Ready=Unknown, CapacityJumped, the taints not-ready and unreachable (NoSchedule), those of
//	           ClusterTaintPolicies and the timeAdded of NoExecute taints.
//	Invariant: Ready is never set to True or False here. A Cluster is gone only after
//	           its execution namespace, and that only after its Works.
//	Next:      the scheduler, which reads taints and deletion timestamps, and failover,
//	           which reads NoExecute taints.
//
// A Cluster that is deleted is forgotten, whoever deleted it: registration locks its agent
// out. Then failover takes it out of all bindings, its Works are deleted, and their finalizers
// removed in the place of the agent, so that the objects stay in the member; then the execution
// namespace goes, and the Cluster. Whoever wants the objects gone has the agent do that before
// (agent leave), or afterwards (agent join --on-retire). Works are let go of in the same way when
// somebody deletes the execution namespace of a Cluster that stays: it is then made anew.
package cluster
