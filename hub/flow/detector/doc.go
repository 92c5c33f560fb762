// Package detector finds the policy of every template and keeps a binding for it.
//
// Reads: PropagationPolicies, ClusterPropagationPolicies, override policies (whether they exist), RolloutStrategies and the labels of the
// Namespaces that these select, the metadata of the templates of the kinds that policies name, and the whole template of a workload.
// Writes: bindings, the claim on templates, the permanent id and the finalizer of policies.
// Owns: the claim; of a binding the metadata and the spec except clusters, gracefulEvictionTasks, requiredBy, rescheduleTriggeredAt and
// suspension.scheduling.
// Invariant: a template has one policy, and keeps it until that policy no longer selects it or is deleted. A binding outlives its policy,
// and gets no other policy while its namespace is being deleted. Nothing is deleted here. The strategy, the dependencies of a workload, and
// preserveResourcesOnDeletion are removed from a binding only after their sources were read live. One object is one template, in however
// many versions of its group policies select it. An existing binding follows the strategy that is forced on its template, even if no policy
// is applied, unless it is only attached to workloads. Whatever the outcome for a template, the stages that send its edits are told that it
// was seen (edits.Seen), after the strategy is on the binding.
// Next: the scheduler chooses the clusters of the binding.
//
// Other stages also write fields that are owned here, but no two of them at the same time:
//
//   - The dependencies stage creates the binding of an object that no policy has ever selected, and owns all of these fields until a policy
//     selects the object: from then on spec.placement is set, and the detector takes over. The marks of the dependencies stage stay: the
//     labels depended-by, its annotation and finalizer, spec.requiredBy, and what it adds to spec.preservedIn while no policy selects the
//     object.
//   - Stages keep their own records on a binding, each under its own key: the annotations applied-placement, admitted-requests,
//     reschedule-pending and reschedule-answered (scheduler), evictions and evictions-packed (failover), scale-target (replicas) and
//     dependencies-by (dependencies), and finalizers. The detector writes only its own keys, and removes none of the others.
//   - The permanent id of a binding is written by the stage that creates it, and never changed.
//
// Each template is gathered, planned and committed: gather.go reads, plan.Decide decides, and commit.go is the only file that writes. What
// was written is reported even if a later write fails. The response to the write of a claim contains the whole workload, so that a new
// workload need not be read.
//
// Each version of a kind that policies name is watched, and a template is requested in each of them. The decision is the same in all
// versions, and only the reconcile in the version of the template's policy writes: see versions.go. If a version is not served any more,
// nothing changes, and the author of the template is told.
//
// There is one queue. A request names a template, a policy, or a kind. A request for a kind checks whether to watch it, which is the case
// while a policy names it or a template of it is claimed. One more request is for all kinds that the API does not serve: it checks whether
// they are served by now.
package detector
