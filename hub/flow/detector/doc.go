// Package detector finds the policy of every template and keeps a binding for it.
//
// Reads: PropagationPolicies, ClusterPropagationPolicies, override policies (whether
// they exist), RolloutStrategies and the labels of Namespaces that these select, the metadata of the templates of the kinds that
// policies name, and the whole template of a workload.
// Writes: bindings, the claim on templates, the permanent id and the finalizer of
// policies.
// Owns: the claim; of a binding the metadata and the spec but for clusters,
// gracefulEvictionTasks, requiredBy, rescheduleTriggeredAt and suspension.scheduling.
// Invariant: a template has one policy, and keeps it until that policy no longer
// selects it or is gone; a binding outlives its policy, and gets no other one while its namespace is being deleted; nothing is deleted here. A strategy, what a workload needs, and that objects
// stay are taken off a binding only after a live look at what says so. One object
// is one template, in however many versions of its group policies select it.
// A binding that is there goes by the strategy that is forced on its template, whatever keeps policies from it, but for what only follows
// workloads. Whatever becomes of a template, those who send its edits are told that it was seen (edits.Seen), after the binding says how they go.
// Next: the scheduler chooses the clusters of the binding.
//
// Others write, too, what is owned here, and no two of them at the same time:
//
//   - The dependencies stage makes the binding of an object that no policy has ever
//     selected, and owns all of that until a policy does: spec.placement is set from then
//     on, and the detector takes over. Its own marks stay: the labels depended-by, the
//     annotation and the finalizer of dependencies, spec.requiredBy, and what it adds to
//     spec.preservedIn while no policy selects the object.
//   - Stages keep notes for themselves on a binding, each under a key of its own: the
//     annotations applied-placement, admitted-requests, reschedule-pending and
//     reschedule-answered (scheduler), evictions and evictions-packed (failover),
//     scale-target (replicas) and dependencies-by (dependencies), and finalizers.
//     The detector writes the keys that are its own, and takes none away.
//   - The permanent id of a binding is written by whoever makes it, and never changed.
//
// A template is gathered, planned and committed: gather.go reads, plan.Decide decides,
// commit.go is the only file that writes, and what was written is told even if a later
// write fails. The write of a claim answers with the whole workload, so that a new
// workload is not read.
//
// A version of a kind is watched for each that policies name, and a template is asked for in
// each of them. The decision is the same in all, and only that in the version of the policy
// that has the template writes: see versions.go. That a version is served no more changes
// nothing but what people are told.
//
// There is one queue. A request names a template, a policy, or a kind: for a kind the
// question is whether to watch it, which is so while a policy names it or a template
// of it is claimed. One more request is for all kinds that the API does not serve: whether
// it does by now.
package detector
