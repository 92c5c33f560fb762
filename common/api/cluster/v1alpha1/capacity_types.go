package v1alpha1

import corev1 "k8s.io/api/core/v1"

// APIEnablement is one group and version of the member's API.
type APIEnablement struct {
	// GroupVersion such as "apps/v1".
	// +required
	GroupVersion string `json:"groupVersion"`

	// Resources of it, without sub-resources.
	// +optional
	// +kubebuilder:validation:MaxItems=4096
	Resources []APIResource `json:"resources,omitempty"`
}

// APIResource is one resource.
type APIResource struct {
	// Name in the plural, such as "deployments".
	// +required
	Name string `json:"name"`

	// Kind of its objects.
	// +required
	Kind string `json:"kind"`
}

// NodeSummary counts nodes.
type NodeSummary struct {
	// TotalNum is how many nodes there are.
	// +optional
	TotalNum int32 `json:"totalNum,omitempty"`

	// ReadyNum is how many of them are ready.
	// +optional
	ReadyNum int32 `json:"readyNum,omitempty"`
}

// NamespaceQuota is the part of one namespace's ResourceQuotas that is not used.
type NamespaceQuota struct {
	// Namespace in the member.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// PriorityClass says of which pods it is so; of all of the namespace if it is absent.
	// +optional
	PriorityClass *PriorityClassScope `json:"priorityClass,omitempty"`

	// Free is how much more pods may request of a resource, by its name in a pod, and pods how
	// many more there may be. What is not listed is not bounded. Never below 0.
	// +required
	// +kubebuilder:validation:MaxProperties=32
	Free corev1.ResourceList `json:"free"`
}

// PriorityClassScope picks pods by the names of their priority classes.
type PriorityClassScope struct {
	// Operator is that of the scope of the ResourceQuota.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator corev1.ScopeSelectorOperator `json:"operator"`

	// Values are the names for In and NotIn.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	Values []string `json:"values,omitempty"`
}

// ResourceSummary adds up resources.
type ResourceSummary struct {
	// Allocatable is the sum of the nodes' allocatable resources.
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`

	// Allocating is the sum of the requests of pods without a node.
	// +optional
	Allocating corev1.ResourceList `json:"allocating,omitempty"`

	// Allocated is the sum of the requests of pods on nodes.
	// +optional
	Allocated corev1.ResourceList `json:"allocated,omitempty"`

	// AllocatableModelings counts the nodes of each grade of spec.resourceModels.
	// +optional
	AllocatableModelings []AllocatableModeling `json:"allocatableModelings,omitempty"`
}

// AllocatableModeling counts the nodes of a grade.
type AllocatableModeling struct {
	// Grade is the number of the grade.
	// +required
	// +kubebuilder:validation:Minimum=0
	Grade uint `json:"grade"`

	// Count is how many nodes are of it.
	// +required
	Count int `json:"count"`
}
