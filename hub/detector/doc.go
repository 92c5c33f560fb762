// Package detector finds the policy of every template and keeps a binding for it.
//
// Reads: PropagationPolicies, ClusterPropagationPolicies, override policies (whether
// they exist), the metadata of the templates of the kinds that policies name, and the
// whole template of a workload.
// Writes: bindings, the claim on templates, the permanent id and the finalizer of
// policies.
// Owns: the claim; of a binding the metadata and the spec but for clusters,
// gracefulEvictionTasks, requiredBy, rescheduleTriggeredAt and suspension.scheduling.
// Invariant: a template has one policy, and keeps it until that policy no longer
// selects it or is gone; a binding outlives its policy; nothing is deleted here.
// Next: the scheduler chooses the clusters of the binding.
//
// There is one queue. A request names a template, a policy, or a kind: for a kind the
// question is whether to watch it, which is so while a policy names it or a template
// of it is claimed.
package detector
