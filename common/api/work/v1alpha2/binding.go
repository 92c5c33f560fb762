package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Binding abstracts over ResourceBinding and ClusterResourceBinding, so that every stage has one implementation for both.
//
// +kubebuilder:object:generate=false
type Binding interface {
	metav1.Object
	// BindingSpec returns the spec, to read and to change.
	BindingSpec() *ResourceBindingSpec
	// BindingStatus returns the status, to read and to change.
	BindingStatus() *ResourceBindingStatus
}

// BindingSpec returns the spec, to read and to change.
func (b *ResourceBinding) BindingSpec() *ResourceBindingSpec { return &b.Spec }

// BindingStatus returns the status, to read and to change.
func (b *ResourceBinding) BindingStatus() *ResourceBindingStatus { return &b.Status }

// BindingSpec returns the spec, to read and to change.
func (b *ClusterResourceBinding) BindingSpec() *ResourceBindingSpec { return &b.Spec }

// BindingStatus returns the status, to read and to change.
func (b *ClusterResourceBinding) BindingStatus() *ResourceBindingStatus { return &b.Status }
