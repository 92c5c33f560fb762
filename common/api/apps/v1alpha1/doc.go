// Package v1alpha1 holds what users ask for once: WorkloadRebalancer, which has workloads
// placed from scratch.
//
// +kubebuilder:object:generate=true
// +groupName=apps.karmada.io
package v1alpha1
