package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Remedy says what to do about clusters that are in a certain condition.
//
// +kubebuilder:object:root=true
// +kubebuilder:printcolumn:JSONPath=`.spec.actions`,name="ACTIONS",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
// +kubebuilder:resource:scope=Cluster,path=remedies,categories={karmada-io}
type Remedy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is written by users.
	// +required
	Spec RemedySpec `json:"spec"`
}

// RemedySpec says which clusters, when and what.
type RemedySpec struct {
	// ClusterAffinity says which clusters; all if absent.
	// +optional
	ClusterAffinity *ClusterAffinity `json:"clusterAffinity,omitempty"`

	// DecisionMatches say when; one is enough. Always if absent.
	// +optional
	DecisionMatches []DecisionMatch `json:"decisionMatches,omitempty"`

	// Actions say what.
	// +optional
	// +kubebuilder:validation:items:Enum=TrafficControl
	Actions []RemedyAction `json:"actions,omitempty"`
}

// ClusterAffinity names clusters.
type ClusterAffinity struct {
	// ClusterNames are the clusters.
	// +optional
	ClusterNames []string `json:"clusterNames,omitempty"`
}

// DecisionMatch is a condition that a cluster may be in.
type DecisionMatch struct {
	// ClusterConditionMatch is about a condition of the Cluster.
	// +optional
	ClusterConditionMatch *ClusterConditionRequirement `json:"clusterConditionMatch,omitempty"`
}

// ClusterConditionRequirement compares the status of a condition. One that the Cluster
// has not got does not match.
type ClusterConditionRequirement struct {
	// ConditionType is the type of the condition, such as ServiceDomainNameResolutionReady.
	// +required
	// +kubebuilder:validation:MinLength=1
	ConditionType string `json:"conditionType"`

	// Operator compares.
	// +required
	// +kubebuilder:validation:Enum=Equal;NotEqual
	Operator ClusterConditionOperator `json:"operator"`

	// ConditionStatus to compare with: True, False or Unknown.
	// +required
	// +kubebuilder:validation:Enum="True";"False";"Unknown"
	ConditionStatus string `json:"conditionStatus"`
}

// ClusterConditionOperator compares.
type ClusterConditionOperator string

// Values of ClusterConditionOperator.
const (
	ClusterConditionEqual    ClusterConditionOperator = "Equal"
	ClusterConditionNotEqual ClusterConditionOperator = "NotEqual"
)

// RemedyAction is something to do about a cluster.
type RemedyAction string

// TrafficControl : no traffic from other clusters.
const TrafficControl RemedyAction = "TrafficControl"

// RemedyList is a list of them.
//
// +kubebuilder:object:root=true
type RemedyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Remedy `json:"items"`
}
