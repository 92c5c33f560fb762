// Package apiserver installs what a hub needs into a Kubernetes API, and runs an embedded API where there is none.
//
// Reads: the conditions of CRDs, the ConfigMaps kube-public/cluster-info and kube-public/fairlead-exclusions.
//
// Writes: the objects in package manifests (CRDs, RBAC, admission policies), the namespace karmada-cluster, and the
// ConfigMaps kube-public/cluster-info and kube-public/fairlead-exclusions, by server-side apply with the field manager
// contract.FieldManagerInstall. A downgrade removes RBAC objects and policies that only the newer version installed.
//
// Owns: the process of the embedded API and its data directory, and the metrics of its database size and the validity
// of its authorities.
//
// Invariant: a second installation writes nothing; the embedded API never outlives the hub.
//
// Next: the stages in hub/setup start once Install has returned.
package apiserver
