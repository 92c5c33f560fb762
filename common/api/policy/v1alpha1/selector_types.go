package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceSelector picks templates by what they are and how they are called.
type ResourceSelector struct {
	// APIVersion of the templates, such as "apps/v1". It is compared as a whole.
	// +required
	APIVersion string `json:"apiVersion"`

	// Kind of the templates, such as "Deployment".
	// +required
	Kind string `json:"kind"`

	// Namespace of the templates. A namespaced policy may only name its own
	// namespace, which is also what empty means there. In a cluster-scoped policy
	// empty means every namespace.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of one template. When it is set, labelSelector is not looked at.
	// +optional
	Name string `json:"name,omitempty"`

	// LabelSelector picks templates by their labels. With neither a name nor a
	// labelSelector every template of the kind is picked.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// FieldSelector picks clusters by the fields provider, region and zone.
type FieldSelector struct {
	// MatchExpressions must all hold. Keys are provider, region and zone; operators
	// are In and NotIn. A cluster with several zones is In when any of them is
	// listed, and NotIn when none of them is.
	// +optional
	MatchExpressions []corev1.NodeSelectorRequirement `json:"matchExpressions,omitempty"`
}

// ClusterAffinity picks clusters. The parts that are given must all hold; with
// none given every cluster is picked.
type ClusterAffinity struct {
	// LabelSelector is matched against the labels of the Cluster.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// FieldSelector is matched against provider, region and zones of the Cluster.
	// +optional
	FieldSelector *FieldSelector `json:"fieldSelector,omitempty"`

	// ClusterNames lists the only clusters that may be picked.
	// +optional
	// +kubebuilder:validation:items:MaxLength=253
	ClusterNames []string `json:"clusterNames,omitempty"`

	// ExcludeClusters lists clusters that are never picked, whatever else matches.
	// +optional
	// +kubebuilder:validation:items:MaxLength=253
	ExcludeClusters []string `json:"exclude,omitempty"`
}
