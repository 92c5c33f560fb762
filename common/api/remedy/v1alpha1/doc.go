// Package v1alpha1 holds Remedy, which says what to do when a cluster is in a certain
// condition.
//
// +kubebuilder:object:generate=true
// +groupName=remedy.karmada.io
package v1alpha1
