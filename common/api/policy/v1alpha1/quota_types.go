package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FederatedResourceQuota bounds what the workloads of its namespace request in all
// clusters together.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories={karmada-io}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:JSONPath=`.status.overall`,name="OVERALL",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.overallUsed`,name="OVERALL_USED",type=string
type FederatedResourceQuota struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is written by users.
	// +required
	Spec FederatedResourceQuotaSpec `json:"spec"`

	// Status is written by the hub.
	// +optional
	Status FederatedResourceQuotaStatus `json:"status,omitempty"`
}

// FederatedResourceQuotaSpec is the bound, and the part of it that each cluster has.
type FederatedResourceQuotaSpec struct {
	// Overall is the bound for all clusters together.
	// +required
	Overall corev1.ResourceList `json:"overall"`

	// StaticAssignments are the bounds of single clusters; a ResourceQuota is made in
	// each. Their sum is at most Overall.
	// +optional
	StaticAssignments []StaticClusterAssignment `json:"staticAssignments,omitempty"`
}

// StaticClusterAssignment is the bound of one cluster.
type StaticClusterAssignment struct {
	// ClusterName is the name of the cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	ClusterName string `json:"clusterName"`

	// Hard is its bound.
	// +required
	Hard corev1.ResourceList `json:"hard"`
}

// FederatedResourceQuotaStatus is the observed use of a quota.
type FederatedResourceQuotaStatus struct {
	// Overall is the bound that is in force.
	// +optional
	Overall corev1.ResourceList `json:"overall,omitempty"`

	// OverallUsed is the sum of the use in all clusters.
	// +optional
	OverallUsed corev1.ResourceList `json:"overallUsed,omitempty"`

	// AggregatedStatus has the reports of the clusters.
	// +optional
	AggregatedStatus []ClusterQuotaStatus `json:"aggregatedStatus,omitempty"`
}

// ClusterQuotaStatus is the report of one cluster.
type ClusterQuotaStatus struct {
	// ClusterName is the name of the cluster.
	// +required
	ClusterName string `json:"clusterName"`

	corev1.ResourceQuotaStatus `json:",inline"`
}

// FederatedResourceQuotaList is a list of them.
//
// +kubebuilder:object:root=true
type FederatedResourceQuotaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FederatedResourceQuota `json:"items"`
}
