// Package apiserver makes a Kubernetes API fit for a hub, and starts one where there is
// none.
//
// Reads: the CRDs' conditions, ConfigMap kube-public/cluster-info.
//
// Writes: what package manifests holds (CRDs, RBAC, admission policies), namespace
// karmada-cluster, ConfigMap kube-public/cluster-info; by server-side apply with field
// manager contract.FieldManagerInstall. A version that is told to go back from a newer one removes
// the rights and policies that only that one installed.
//
// Owns: the child process of the embedded API and its directory, and the metrics of how full its database is and for how long
// its authorities hold.
//
// Invariant: a second installation writes nothing; the embedded API never outlives the
// hub.
//
// Next: the stages of hub/setup run once Install has returned.
package apiserver
