// Package quotas brings FederatedResourceQuotas to the members that have a part of them,
// and says how much of them is used.
//
//	Reads:     FederatedResourceQuotas, Clusters, the ResourceBindings of their namespaces,
//	           the Works that it made.
//	Writes:    Works with a ResourceQuota in execution namespaces; the status of
//	           FederatedResourceQuotas. Events on them.
//	Owns:      both, and the finalizer of a FederatedResourceQuota that has Works.
//	Invariant: there is a Work for each cluster of staticAssignments that is there. One is
//	           deleted because its cluster is not assigned any more, or its
//	           FederatedResourceQuota is being deleted: never because that is absent. Both are
//	           read live first.
//	Next:      the agents, and the scheduler, which holds bindings to what is left.
package quotas
