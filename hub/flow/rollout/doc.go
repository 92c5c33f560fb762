// Package rollout decides which revision of an application which cluster is to have, where a
// RolloutStrategy says that changes reach clusters in waves.
//
//   - Reads: bindings with a strategy, and those of what they need; RolloutStrategies; the templates
//     (live, whole, once for each version), override policies, Clusters, Works without their
//     manifests, also those of what is needed, the spec of StagedRollouts, and the status of others whose
//     applications need the same, with their Works.
//   - Writes: StagedRollouts and ClusterStagedRollouts, which it makes and of which it writes the
//     status; condition RollingOut of bindings. Events on the rollout and the template.
//   - Owns: the status of these, and the Secrets in which revisions are kept: beside the binding, and, with what
//     ClusterOverridePolicies say, in contract.ClusterNamespace.
//   - Invariant: a status names a revision only after its content is kept, and the binding stage sends
//     what the status says, so nothing is sent before it is decided, written and kept. The number of a
//     revision is never used twice, and is above all that a Work of the application bears. A binding
//     without a strategy costs not one request. A rollout ends only after a live look at its binding. What is left over in contract.ClusterNamespace is deleted only after
//     a live look at the rollout.
//   - Next: the binding stage renders for each cluster the revision that it is to have.
//
// Of one rollout the status is written once a second at the most, but at once after a person, a gate
// or a failure. What is in memory only (since when an edit settles, how long a cluster takes, who
// has a place to catch up) starts over with the hub.
package rollout
