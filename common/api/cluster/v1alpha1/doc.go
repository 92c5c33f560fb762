// Package v1alpha1 holds Cluster: the hub's record of a member.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.karmada.io
package v1alpha1
