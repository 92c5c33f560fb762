// Package v1alpha1 holds the policies that users write: where objects go
// (PropagationPolicy, ClusterPropagationPolicy) and what differs where
// (OverridePolicy, ClusterOverridePolicy), how much they may ask for
// (FederatedResourceQuota), and when clusters are tainted (ClusterTaintPolicy).
//
// +kubebuilder:object:generate=true
// +groupName=policy.karmada.io
package v1alpha1
