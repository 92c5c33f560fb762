// Package scheduler picks the clusters of every binding.
//
//   - Reads: ResourceBindings and ClusterResourceBindings with a policy's claim, and what
//     they remember of evictions; Clusters; which of them a Namespace may use;
//     FederatedResourceQuotas, and what the bindings of their namespaces use.
//   - Writes: spec.clusters and the annotation applied-placement of the binding in one
//     patch, with admitted-requests where there are quotas, then in its status the condition Scheduled, schedulerObservedGeneration,
//     schedulerObservingAffinityName and lastScheduledTime in another. Where that is routine (a
//     new binding got clusters, a changed one keeps them) it waits up to ten seconds for the status
//     stage, which writes it together with what the clusters report. Events on the
//     template and the binding.
//     A cluster that it leaves although the application could stay (a preferred one has
//     room again, or a decision from scratch was asked for) gets an eviction task in the
//     same patch, so that its copy stays until the others are healthy; failover goes on
//     from there. So does a cluster that the namespace may not use any more, also of a
//     binding that is not the scheduler's to place.
//   - Owns: those fields; eviction removes entries from spec.clusters beside it.
//   - Invariant: the targets are what decide.Decide says of the binding and the
//     Clusters, or what they were when it says that nothing calls for a decision. A
//     decision that was made on an outdated binding is not written. The clusters that it
//     drops are read live before, and the Namespace if that says which may be used.
//   - Room: what clusters report to have free, also of the ResourceQuotas of a namespace, bounds
//     what goes there (fit). What was assigned and is not reported yet is reserved (reserve), also after a
//     restart. One decision is made after the other, so that a burst does not fill a
//     cluster twice.
//   - Queue: higher schedulePriority first, then what somebody changed before what is
//     looked at again. A cluster that only has more room wakes only who waits for it,
//     or would rather be there; any other change of it who waits, has it, would rather be
//     there, or follows the clusters that it picks. If all that changed is which kinds it serves,
//     these are only applications of such a kind.
//   - Next: hub/flow/binding renders a Work for each target.
package scheduler
