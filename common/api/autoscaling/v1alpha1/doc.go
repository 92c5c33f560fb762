// Package v1alpha1 holds what changes the replicas of a template by the clock:
// CronFederatedHPA.
//
// +kubebuilder:object:generate=true
// +groupName=autoscaling.karmada.io
package v1alpha1
