package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterTaintPolicy taints clusters by the conditions that they are in.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=clustertaintpolicies
type ClusterTaintPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is written by users.
	// +required
	Spec ClusterTaintPolicySpec `json:"spec"`
}

// ClusterTaintPolicySpec says which clusters get which taints, and when.
type ClusterTaintPolicySpec struct {
	// TargetClusters are the clusters; all if absent.
	// +optional
	TargetClusters *ClusterAffinity `json:"targetClusters,omitempty"`

	// AddOnConditions must all hold for the taints to be added. None: never.
	// +optional
	AddOnConditions []MatchCondition `json:"addOnConditions,omitempty"`

	// RemoveOnConditions must all hold for the taints to be removed. None: never.
	// +optional
	RemoveOnConditions []MatchCondition `json:"removeOnConditions,omitempty"`

	// Taints to add and remove.
	// +required
	// +kubebuilder:validation:MinItems=1
	Taints []ClusterTaint `json:"taints"`
}

// MatchCondition is about one condition of a Cluster. One that the Cluster has not got
// does not match.
type MatchCondition struct {
	// ConditionType is the type of the condition, such as Ready.
	// +required
	// +kubebuilder:validation:MinLength=1
	ConditionType string `json:"conditionType"`

	// Operator compares: In or NotIn.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn
	Operator MatchConditionOperator `json:"operator"`

	// StatusValues are compared with: True, False, Unknown.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Enum="True";"False";"Unknown"
	StatusValues []metav1.ConditionStatus `json:"statusValues"`
}

// MatchConditionOperator compares.
type MatchConditionOperator string

// Values of MatchConditionOperator.
const (
	MatchConditionIn    MatchConditionOperator = "In"
	MatchConditionNotIn MatchConditionOperator = "NotIn"
)

// ClusterTaint is a taint of a cluster.
type ClusterTaint struct {
	// Key of the taint.
	// +required
	Key string `json:"key"`

	// Effect of the taint. Clusters have no taints of effect PreferNoSchedule.
	// +required
	// +kubebuilder:validation:Enum=NoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect"`

	// Value of the taint.
	// +optional
	Value string `json:"value,omitempty"`
}

// ClusterTaintPolicyList is a list of them.
//
// +kubebuilder:object:root=true
type ClusterTaintPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterTaintPolicy `json:"items"`
}
