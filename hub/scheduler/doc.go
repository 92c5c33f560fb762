// Package scheduler picks the clusters of every binding.
//
//   - Reads: ResourceBindings and ClusterResourceBindings with a policy's claim, Clusters.
//   - Writes: spec.clusters and the annotation applied-placement of the binding in one
//     patch, then in its status the condition Scheduled, schedulerObservedGeneration,
//     schedulerObservingAffinityName and lastScheduledTime in another. Events on the
//     template and the binding.
//   - Owns: those fields; eviction removes entries from spec.clusters beside it.
//   - Invariant: the targets are what decide.Decide says of the binding and the
//     Clusters, or what they were when it says that nothing calls for a decision. A
//     decision that was made on an outdated binding is not written.
//   - Next: hub/binding renders a Work for each target.
package scheduler
