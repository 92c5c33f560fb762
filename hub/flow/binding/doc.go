// Package binding renders the Works of every binding: one for each of its clusters.
//
//   - Reads: bindings, the template (live, whole), Clusters, OverridePolicies and ClusterOverridePolicies, FederatedResourceQuotas, Works
//     without their manifests; the policy of a binding that is being deleted (live), or those of the workloads that need its object; for
//     staged bindings StagedRollouts and the Secrets of their revisions, including the ClusterOverridePolicies of a revision in
//     contract.ClusterNamespace.
//   - Writes: Works in the execution namespaces, except their status; removes its finalizer from a binding that is being deleted; gives a
//     binding that was created by hand its permanent id and that finalizer; condition Rendered of bindings. Events on the template and the
//     binding. Marks of what Works were rendered from, slowly, if another version of the program renders the same.
//   - Owns: the spec, labels and annotations of the Works of bindings, and that condition.
//   - Invariant: a cluster has a Work of a binding if and only if it is one of the targets that the namespace may use, or the application is
//     leaving it gracefully. A Work is deleted because its binding says so, never because something was not found, and the reason is written
//     on it first (contract.DeletionIntentAnnotation). The binding and the Cluster are read live before: nothing is removed from a cluster
//     that leaves the fleet. A Work that another writer deleted is created again. A Work of another binding is not touched. If this process
//     saw the deletion of a Work's binding, but the cache showed the Work too late, the Work is deleted as it would have been with the
//     binding, provided that the binding does not exist live and the template does not get another one; a new binding of the same name for
//     that cluster takes the Work over, and its object stays. Any other Work without a binding stays as it is, and is logged once. Where
//     there is a quota, no Work requests more than the scheduler has admitted; until then, the Work stays as it is.
//     If changes are rolled out in waves, a cluster gets the content of the revision that the status of the rollout says, of the template,
//     its overrides and its dependencies, and never newer content. Without a status, or if the content cannot be read, its Work keeps its
//     content. Replicas, suspension and moves do not wait.
//     No edit of the template, of overrides or of dependencies reaches all clusters before the detector of this process has seen the
//     template in that state, and the binding has the result (edits.Seen): until then Works keep their content, and none is created. Labels
//     of Clusters are not content: they select among the rules of that revision.
//     In a namespace that is being deleted, no Work is created or gets other content: the objects there are deleted in no particular order,
//     overrides and quotas perhaps before the templates that they are for. Works are deleted with their bindings as usual.
//     The Works of one namespace use no more of the database than Deps.Stored allows.
//   - Memory: the memory for manifests does not grow with the number of clusters. A worker has one template, renders one Work at a time and
//     keeps 1 MiB of manifests (maxKept) until they are written; others are dropped and rendered again when they are written. At most 16 MiB
//     of manifests are being written at a time (maxWriting), 4 MiB of them of one binding; those of up to 16 KiB do not wait for that. With
//     12 workers for each kind of binding that is 52 MiB of manifests, and about six times as much with requests and responses. In addition,
//     the labels and annotations of all Works of a binding are in memory, as they are in the cache.
//   - Workers: namespaces take turns (fairqueue.Queue). A binding with 64 Works or more to render and write, or to delete (largeFrom), is
//     large, and may occupy its worker for seconds. Large bindings occupy at most three quarters of the workers, and those of one namespace
//     half. A large binding waits for such a worker, and is reconciled meanwhile when it changes. Works that are known to be up to date do
//     not count, and what a rollout sends to fewer clusters is sent before.
//   - Next: the agent of the cluster applies the content of the Work.
package binding
