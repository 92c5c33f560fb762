// Package dependencies lets what a workload needs follow it: the ConfigMaps, Secrets and
// the like that its kind's rules name, to the clusters that the scheduler picked. So does the
// namespace of whatever goes anywhere, parts of quotas among it; or every namespace everywhere.
//
//   - Reads: bindings with propagateDeps, their templates (live, whole, and after a start only those of which the
//     bindings do not say what they need), the metadata of the
//     kinds that those name, and of namespaces; FederatedResourceQuotas, and which Clusters
//     there are; the ReferenceGrants of other namespaces that those name.
//     Of workloads whose changes are rolled out in waves StagedRollouts, and the revision that
//     is stable; of one that lets go of something its policy (live), which may have its objects stay by now. Namespaces (live) whose
//     ReferenceGrants are gone, and the definition of that kind.
//   - Writes: the bindings of such objects where no policy selects them, preservedIn of these, and requiredBy and
//     the label depended-by of all of them; on the binding of the workload a finalizer and
//     the annotations with its dependencies and with who said so. Events on the template and the binding.
//   - Owns: bindings that have no placement, condition DependencyPolicyConflict of them, and DependenciesLeftOut of the bindings
//     of workloads. Status dependenciesOf of these, which the status stage writes along with what the clusters report.
//   - Invariant: requiredBy of a binding names exactly the bindings whose workloads need its
//     object, with the clusters that those are in; an entry without a name is all that is in a
//     namespace, or else the clusters of several that have them alike, once lists for each would be too long.
//     What a revision needs that some cluster may still have stays attached, though the
//     template does not name it any more; and so does all that is attached while dispatching to some cluster is
//     suspended, or as the rules are gone by which it was needed, which the annotation
//     dependencies-by names. Where a workload that was preserved is left behind, what it needed is noted
//     to stay. A binding that nothing needs and no policy
//     ever selected is deleted, and with it what it brought: what says that nothing needs it is
//     read live first, since each cache may be late by another time. That the binding of a workload is absent is no
//     such word, unless it was seen to go.
//     What is in another namespace than the workload is attached only while a ReferenceGrant
//     there says so, and not anew to one whose changes go out in waves. In one that is being deleted nothing is attached or detached for want of
//     a grant: what is there goes by itself. What goes before its workload is told where it stays before the workload's binding goes.
//   - Next: the binding stage renders them like any other.
package dependencies
