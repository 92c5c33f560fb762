package v1alpha1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CronFederatedHPA sets the replicas of a template at the times that its rules name.
//
// +kubebuilder:object:root=true
// +kubebuilder:printcolumn:JSONPath=`.spec.scaleTargetRef.kind`,name="REFERENCE-KIND",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.scaleTargetRef.name`,name="REFERENCE-NAME",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
// +kubebuilder:resource:shortName=cronfhpa,categories={karmada-io}
// +kubebuilder:subresource:status
type CronFederatedHPA struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is written by users.
	// +required
	Spec CronFederatedHPASpec `json:"spec"`

	// Status is written by the hub.
	// +optional
	Status CronFederatedHPAStatus `json:"status,omitempty"`
}

// CronFederatedHPASpec says what is scaled, and when.
type CronFederatedHPASpec struct {
	// ScaleTargetRef names a template in the same namespace of the hub that has the
	// subresource scale, such as a Deployment. A FederatedHPA cannot be named.
	// +required
	ScaleTargetRef autoscalingv2.CrossVersionObjectReference `json:"scaleTargetRef"`

	// Rules say when and to how many replicas. Of rules that are due at the same time the
	// last one decides.
	// +required
	// +kubebuilder:validation:MaxItems=100
	Rules []CronFederatedHPARule `json:"rules"`
}

// CronFederatedHPARule is one time, which recurs, and the replicas that are set then.
type CronFederatedHPARule struct {
	// Name of the rule; no other rule of the object has it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`

	// Schedule in five fields: minute, hour, day of the month, the month, day of the week; or a
	// word such as @daily.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule"`

	// TargetReplicas are set when the rule is due.
	// +optional
	TargetReplicas *int32 `json:"targetReplicas,omitempty"`

	// TargetMinReplicas is a bound of a FederatedHPA, which cannot be a target here: it has no
	// effect on other targets.
	// +optional
	TargetMinReplicas *int32 `json:"targetMinReplicas,omitempty"`

	// TargetMaxReplicas is a bound of a FederatedHPA, which cannot be a target here: it has no
	// effect on other targets.
	// +optional
	TargetMaxReplicas *int32 `json:"targetMaxReplicas,omitempty"`

	// Suspend has the rule do nothing; what is running stays as it is.
	// +optional
	// +kubebuilder:default=false
	Suspend *bool `json:"suspend,omitempty"`

	// TimeZone of the schedule, such as Europe/Berlin; that of the hub if it is absent. A time
	// that a change of clocks leaves out is left out; one that it repeats counts once.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone *string `json:"timeZone,omitempty"`

	// SuccessfulHistoryLimit is how many successful executions the status keeps.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	SuccessfulHistoryLimit *int32 `json:"successfulHistoryLimit,omitempty"`

	// FailedHistoryLimit is how many failed executions the status keeps.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=32
	FailedHistoryLimit *int32 `json:"failedHistoryLimit,omitempty"`
}

// CronFederatedHPAStatus says what the rules did.
type CronFederatedHPAStatus struct {
	// ExecutionHistories have, in the order of the rules, the past executions of each rule and its next one.
	// +optional
	ExecutionHistories []ExecutionHistory `json:"executionHistories,omitempty"`

	// Conditions: RulesValid. This field is not of the API that others implement.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CronRulesValid says whether all rules can be followed. The stage cronscaling of the hub is its one
// writer.
const CronRulesValid = "RulesValid"

// Reasons of the condition RulesValid.
const (
	// ReasonRulesValid : each rule that is not suspended has a next time.
	ReasonRulesValid = "RulesValid"
	// ReasonInvalidRule : the message names the rule, its field and what is wrong with it.
	ReasonInvalidRule = "InvalidRule"
)

// ExecutionHistory has the executions of one rule.
type ExecutionHistory struct {
	// RuleName is the name of the rule.
	// +required
	RuleName string `json:"ruleName"`

	// NextExecutionTime is when the rule is due next; absent if it is suspended, or never due.
	// +optional
	NextExecutionTime *metav1.Time `json:"nextExecutionTime,omitempty"`

	// SuccessfulExecutions are the last ones, the newest first.
	// +optional
	SuccessfulExecutions []SuccessfulExecution `json:"successfulExecutions,omitempty"`

	// FailedExecutions are the last ones, the newest first. Those that the hub missed are
	// among them, of one absence as one.
	// +optional
	FailedExecutions []FailedExecution `json:"failedExecutions,omitempty"`
}

// SuccessfulExecution is one time that a rule set the replicas.
type SuccessfulExecution struct {
	// ScheduleTime is when the rule was due.
	// +required
	ScheduleTime *metav1.Time `json:"scheduleTime"`

	// ExecutionTime is when the replicas were set.
	// +required
	ExecutionTime *metav1.Time `json:"executionTime"`

	// AppliedReplicas is the number of replicas that was set.
	// +optional
	AppliedReplicas *int32 `json:"appliedReplicas,omitempty"`

	// AppliedMinReplicas is of FederatedHPAs, and never set here.
	// +optional
	AppliedMinReplicas *int32 `json:"appliedMinReplicas,omitempty"`

	// AppliedMaxReplicas is of FederatedHPAs, and never set here.
	// +optional
	AppliedMaxReplicas *int32 `json:"appliedMaxReplicas,omitempty"`
}

// FailedExecution is one time that a rule did not set the replicas.
type FailedExecution struct {
	// ScheduleTime is when the rule was due.
	// +required
	ScheduleTime *metav1.Time `json:"scheduleTime"`

	// ExecutionTime is when it was given up.
	// +required
	ExecutionTime *metav1.Time `json:"executionTime"`

	// Message says why.
	// +required
	Message string `json:"message"`
}

// CronFederatedHPAList is a list of them.
//
// +kubebuilder:object:root=true
type CronFederatedHPAList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CronFederatedHPA `json:"items"`
}
