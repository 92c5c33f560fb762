// Package v1alpha2 holds the bindings: what the hub decided for one template.
//
// +kubebuilder:object:generate=true
// +groupName=work.karmada.io
package v1alpha2
