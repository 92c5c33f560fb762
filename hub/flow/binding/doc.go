// Package binding renders the Works of every binding: one for each of its clusters.
//
//   - Reads: bindings, the template (live, whole), Clusters, OverridePolicies and
//     ClusterOverridePolicies, FederatedResourceQuotas, Works without their manifests;
//     the policy of a binding that is being deleted (live), or those of the workloads that need its object;
//     of what is rolled out in waves StagedRollouts and the Secrets of their revisions,
//     with what ClusterOverridePolicies say in one in contract.ClusterNamespace.
//   - Writes: Works in the execution namespaces, but for their status; removes its
//     finalizer from a binding that is being deleted; gives one that somebody made
//     by hand its permanent id and that finalizer; condition Rendered of bindings. Events
//     on the template and the binding. What a Work was rendered from, if another program
//     comes to the same, slowly.
//   - Owns: the spec, labels and annotations of the Works of bindings, and that condition.
//   - Invariant: a cluster has a Work of a binding if and only if it is one of its
//     targets that the namespace may use, or the application is leaving it in its own time. A Work is deleted
//     because its binding says so, never because something was not found, and says why
//     before (contract.DeletionIntentAnnotation). What says so is read live first, with the
//     Cluster: from one that leaves nothing is taken. One that somebody else deleted is made
//     again. A Work of another binding is not touched. One whose binding this process saw go, which the cache showed too late for it to go along, goes as it
//     would have gone then, if the binding is not there live and its template waits for no other one; a binding of the same name that is to be
//     there takes it over, and its object stays. Any other that has no binding is left as it is, and logged once. Where there is a quota, no Work
//     requests more than the scheduler has admitted; until it does, the Work stays as it is.
//     Where changes are rolled out in waves, a cluster gets the content of the revision
//     that the status of the rollout says, of the template as well as of its overrides and
//     of what it needs, and never what is newer: without a status, or if the content cannot
//     be read, its Work keeps what is in it. Replicas, suspension and moves do not wait.
//     No edit, of the template, of overrides or of what it needs, goes to all clusters before the detector of this process has seen the template
//     in that state, and the binding says what came of it (edits.Seen): what is there keeps its content, and where nothing is nothing is made.
//     Labels of Clusters are no content: they pick among the rules of that revision.
//     In a namespace that is being deleted no Work is made or gets another content: what is there goes in no particular order, overrides and quotas
//     before what they are about. Works go with their bindings as ever.
//     The Works of one namespace take no more of the database than Deps.Stored allows.
//   - Memory: what is held of manifests does not grow with the number of clusters. A worker has one template, renders one Work at a time
//     and keeps 1 MiB of manifests (maxKept) until they are written; those beyond are dropped and made once more when it is their turn.
//     At most 16 MiB of manifests are being written at a time (maxWriting), 4 MiB of them of one binding; those of up to 16 KiB do not
//     wait for that. With 12 workers for each kind of binding that is 52 MiB of manifests, some six times as much with requests and
//     answers. The labels and annotations of all Works of a binding are held besides, as they are in the cache.
//   - Workers: namespaces take turns (fairqueue.Queue). A binding with 64 Works or more to render and write, or to delete (largeFrom), is a large one,
//     which may hold its worker for seconds: those hold three quarters of the workers at the most, and those of one namespace half. It waits where
//     there is none for it, and is looked at meanwhile when something about it changes. Works that are known to be as they should be do
//     not count, and what a rollout sends to fewer clusters goes out before.
//   - Next: the agent of the cluster applies what the Work carries.
package binding
