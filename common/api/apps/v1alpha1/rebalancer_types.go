package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WorkloadRebalancer asks, once, that workloads be placed from scratch.
//
// +kubebuilder:object:root=true
// +kubebuilder:printcolumn:JSONPath=`.status.finishTime`,name="FINISHED",type=date
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:subresource:status
type WorkloadRebalancer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is written by users.
	// +required
	Spec WorkloadRebalancerSpec `json:"spec"`

	// Status is written by the hub.
	// +optional
	Status WorkloadRebalancerStatus `json:"status,omitempty"`
}

// WorkloadRebalancerSpec says which workloads.
type WorkloadRebalancerSpec struct {
	// Workloads to place from scratch.
	// +required
	// +kubebuilder:validation:MinItems=1
	Workloads []ObjectReference `json:"workloads"`

	// TTLSecondsAfterFinished is after how long this object is deleted once it has done
	// its part; never if absent.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// ObjectReference names a workload on the hub.
type ObjectReference struct {
	// APIVersion of the workload.
	// +required
	// +kubebuilder:validation:MinLength=1
	APIVersion string `json:"apiVersion"`

	// Kind of the workload.
	// +required
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind"`

	// Name of the workload.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Namespace of the workload; empty if it is cluster-scoped.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// WorkloadRebalancerStatus says what came of it.
type WorkloadRebalancerStatus struct {
	// ObservedWorkloads are the workloads and what came of each.
	// +optional
	ObservedWorkloads []ObservedWorkload `json:"observedWorkloads,omitempty"`

	// ObservedGeneration is the generation that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// FinishTime is when the last of them was dealt with.
	// +optional
	FinishTime *metav1.Time `json:"finishTime,omitempty"`
}

// ObservedWorkload is a workload and what came of it.
type ObservedWorkload struct {
	// Workload that was asked for.
	// +required
	Workload ObjectReference `json:"workload"`

	// Result is empty while it is not known.
	// +optional
	// +kubebuilder:validation:Enum=Successful;Failed
	Result RebalanceResult `json:"result,omitempty"`

	// Reason of a failure.
	// +optional
	Reason RebalanceFailedReason `json:"reason,omitempty"`
}

// RebalanceResult says how the rescheduling of a workload ended.
type RebalanceResult string

// Values of RebalanceResult.
const (
	// RebalanceSuccessful : the scheduler was asked to place it from scratch.
	RebalanceSuccessful RebalanceResult = "Successful"
	// RebalanceFailed : see the reason.
	RebalanceFailed RebalanceResult = "Failed"
)

// RebalanceFailedReason says why nothing came of a workload.
type RebalanceFailedReason string

// ReferencedBindingNotFound : no policy has placed such a workload.
const ReferencedBindingNotFound RebalanceFailedReason = "ReferencedBindingNotFound"

// WorkloadRebalancerList is a list of them.
//
// +kubebuilder:object:root=true
type WorkloadRebalancerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []WorkloadRebalancer `json:"items"`
}
