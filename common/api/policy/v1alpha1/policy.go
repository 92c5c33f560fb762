package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Policy abstracts over PropagationPolicy and ClusterPropagationPolicy, so that there is one implementation for both.
//
// +kubebuilder:object:generate=false
type Policy interface {
	metav1.Object
	runtime.Object
	// PropagationSpec returns the spec, to read and to change.
	PropagationSpec() *PropagationSpec
}

// PropagationSpec returns the spec, to read and to change.
func (p *PropagationPolicy) PropagationSpec() *PropagationSpec { return &p.Spec }

// PropagationSpec returns the spec, to read and to change.
func (p *ClusterPropagationPolicy) PropagationSpec() *PropagationSpec { return &p.Spec }
