// Package cluster maintains the hub's record of each member: its execution namespace, its health, the taints that
// follow from it, and its removal.
//
//	Reads:     Clusters; leases in karmada-cluster; which agents have a line open to the hub, which is not
//	           stored anywhere; ClusterTaintPolicies; namespaces; and, when a Cluster is deleted, its Works
//	           and the targets of all bindings.
//	Writes:    execution namespaces, with the label that names their cluster; a Cluster's finalizer, and its
//	           annotations for the execution namespace and the usual capacity.
//	Owns:      Ready=Unknown, CapacityJumped, the taints not-ready and unreachable (NoSchedule), those of
//	           ClusterTaintPolicies, and the timeAdded of NoExecute taints.
//	Invariant: this stage never sets Ready to True or False. A Cluster disappears only after its execution
//	           namespace, and that only after its Works.
//	Next:      the scheduler, which reads taints and deletion timestamps, and failover, which reads
//	           NoExecute taints.
//
// Deleting a Cluster forgets its member, whoever deletes it. First registration revokes the agent's rights and failover
// takes the Cluster out of all bindings. Then this stage deletes its Works and removes their finalizers in place of the
// agent, so that the objects stay in the member. Last it deletes the execution namespace, and removes the finalizer of
// the Cluster. To have the objects deleted as well, let the agent do it before (agent leave) or afterwards (agent join
// --on-retire).
//
// When somebody deletes the execution namespace of a Cluster that is not being deleted, its Works are released in the
// same way, and the namespace is created again.
package cluster
