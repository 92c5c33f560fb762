// Package rollout decides which revision of an application each cluster gets, where a RolloutStrategy rolls changes out in waves.
//
//   - Reads: bindings with a strategy, and those of their dependencies; RolloutStrategies; templates (live and whole, once for each
//     version), override policies, Clusters, Works without their manifests, including those of dependencies, the spec of StagedRollouts,
//     and the status of other StagedRollouts that share dependencies, with their Works.
//   - Writes: StagedRollouts and ClusterStagedRollouts, which it creates and whose status it writes; the condition RollingOut of bindings.
//     Events on the rollout and the template.
//   - Owns: the status of these, and the Secrets that store revisions: beside the binding, and, for rules of ClusterOverridePolicies, in
//     contract.ClusterNamespace.
//   - Invariant: a status names a revision only after its content is stored, and the binding stage sends what the status says, so nothing
//     is sent before it is decided, written and stored. The number of a revision is never reused, and exceeds that on any Work of the
//     application. A binding without a strategy costs no request. No revision is made of an edit that this process's detector has not
//     seen, since it would keep the binding's former strategy. A rollout is deleted only after a live read of its binding, and leftovers
//     in contract.ClusterNamespace only after a live read of the rollout.
//   - Next: the binding stage renders for each cluster the revision that it gets.
//
// The status of a rollout is written at most once a second, but at once after an action of a person, a gate or a failure. State in memory
// (since when an edit settles, how long a cluster takes, which clusters have a slot to catch up) starts over with the hub.
package rollout
