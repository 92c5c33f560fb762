package v1alpha2

import corev1 "k8s.io/api/core/v1"

// ReplicaRequirements are the requirements of one replica on a cluster.
type ReplicaRequirements struct {
	// NodeClaim says on which nodes a replica can run.
	// +optional
	NodeClaim *NodeClaim `json:"nodeClaim,omitempty"`

	// ResourceRequest has the resources that a replica requests.
	// +optional
	ResourceRequest corev1.ResourceList `json:"resourceRequest,omitempty"`

	// Namespace of the workload, for quotas.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// PriorityClassName of the pods.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// NodeClaim says on which nodes a replica can run.
type NodeClaim struct {
	// HardNodeAffinity is the required node affinity of the pod.
	// +optional
	HardNodeAffinity *corev1.NodeSelector `json:"hardNodeAffinity,omitempty"`

	// NodeSelector of the pod.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations of the pod.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// Component is one of several pod templates of a workload.
type Component struct {
	// Name of the component.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`

	// Replicas of the component.
	// +required
	Replicas int32 `json:"replicas"`

	// ReplicaRequirements are the requirements of one replica of the component.
	// +optional
	ReplicaRequirements *ComponentReplicaRequirements `json:"replicaRequirements,omitempty"`
}

// ComponentReplicaRequirements are the requirements of one replica of a component.
type ComponentReplicaRequirements struct {
	// NodeClaim says on which nodes a replica can run.
	// +optional
	NodeClaim *NodeClaim `json:"nodeClaim,omitempty"`

	// ResourceRequest has the resources that a replica requests.
	// +optional
	ResourceRequest corev1.ResourceList `json:"resourceRequest,omitempty"`

	// PriorityClassName of the pods.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
}
