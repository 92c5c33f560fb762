// Package v1alpha1 holds the kinds that the propagation API lacks: RolloutStrategy, which says in
// which waves a change reaches clusters, and StagedRollout and ClusterStagedRollout, each the
// rollout of one binding.
//
// +kubebuilder:object:generate=true
// +groupName=fairlead.dev
package v1alpha1
