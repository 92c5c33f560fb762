// Package scheduler picks the clusters of every binding.
//
//   - Reads: ResourceBindings and ClusterResourceBindings claimed by a policy, with their history of evictions; Clusters; which of them a
//     Namespace allows; FederatedResourceQuotas, and the usage of the bindings in their namespaces.
//   - Writes: spec.clusters and the annotation applied-placement of the binding in one patch, with admitted-requests where there are
//     quotas, and with reschedule-pending and reschedule-answered where a decision from scratch was requested; then, in a second patch,
//     the condition Scheduled, schedulerObservedGeneration, schedulerObservingAffinityName and lastScheduledTime of its status. If
//     that status is routine (a new binding got clusters, a changed one keeps them), it is deferred by up to ten seconds to the status
//     stage, which writes it together with the clusters' reports. Events on the template and the binding.
//     A cluster that an application leaves although it could stay (a preferred one has room again, or a decision from scratch was
//     requested) gets an eviction task in the same patch, so that its copy stays until the others are healthy; failover then completes
//     the task. So does a cluster that the namespace does not allow any more, even if the scheduler is not responsible for the binding.
//   - Owns: those fields; failover also removes entries from spec.clusters.
//   - Invariant: the targets are those that decide.Decide returns for the binding and the Clusters, or the former ones if it finds that
//     nothing calls for a decision. A decision on an outdated binding is not written. Before an application leaves clusters, these are
//     read live, and so is the Namespace if it restricts clusters.
//   - Capacity: what clusters report as free, also by the ResourceQuotas of a namespace, bounds what is assigned to them (fit). Assignments
//     that are not reported yet are reserved (reserve), also after a restart. Decisions are made one at a time, so that a burst does not
//     use the same capacity twice.
//   - Queue: higher schedulePriority first, then changes of bindings before bindings that are reconsidered. A cluster that only gains
//     capacity enqueues the bindings that wait for capacity or would prefer that cluster. Any other change of it enqueues those that wait,
//     have it, would prefer it, or whose placement follows the clusters that it selects; if only the kinds that it serves changed, just
//     those of such a kind.
//   - Next: hub/flow/binding renders a Work for each target.
package scheduler
