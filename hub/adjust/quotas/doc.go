// Package quotas propagates the static assignments of FederatedResourceQuotas to members as ResourceQuotas, and reports
// how much of each FederatedResourceQuota is used.
//
//	Reads:     FederatedResourceQuotas, Clusters, the existence of execution namespaces, the
//	           ResourceBindings of their namespaces, the Works that it made.
//	Writes:    Works with a ResourceQuota in execution namespaces; the status of
//	           FederatedResourceQuotas. Events on them.
//	Owns:      both, and the finalizer of a FederatedResourceQuota that has Works.
//	Invariant: there is a Work for each existing cluster in staticAssignments. A Work is
//	           deleted because its cluster is not assigned any more, or because its
//	           FederatedResourceQuota is being deleted, but never because the latter is
//	           absent. Both are read live first.
//	Next:      the agents, and the scheduler, which limits bindings to the remaining quota.
package quotas
