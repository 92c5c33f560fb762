package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rollout is a StagedRollout or a ClusterStagedRollout: who works with both needs one
// implementation only.
//
// +kubebuilder:object:generate=false
type Rollout interface {
	metav1.Object
	// RolloutSpec returns the spec, to read and to change.
	RolloutSpec() *StagedRolloutSpec
	// RolloutStatus returns the status, to read and to change.
	RolloutStatus() *StagedRolloutStatus
}

// RolloutSpec returns the spec, to read and to change.
func (r *StagedRollout) RolloutSpec() *StagedRolloutSpec { return &r.Spec }

// RolloutStatus returns the status, to read and to change.
func (r *StagedRollout) RolloutStatus() *StagedRolloutStatus { return &r.Status }

// RolloutSpec returns the spec, to read and to change.
func (r *ClusterStagedRollout) RolloutSpec() *StagedRolloutSpec { return &r.Spec }

// RolloutStatus returns the status, to read and to change.
func (r *ClusterStagedRollout) RolloutStatus() *StagedRolloutStatus { return &r.Status }
