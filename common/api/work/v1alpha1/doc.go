// Package v1alpha1 holds Work: what the agent of one cluster applies there.
//
// +kubebuilder:object:generate=true
// +groupName=work.karmada.io
package v1alpha1
