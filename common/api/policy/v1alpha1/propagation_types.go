package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PropagationPolicy says to which clusters templates of its own namespace go.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=pp,categories={karmada-io}
// +kubebuilder:printcolumn:JSONPath=`.spec.conflictResolution`,name="CONFLICT-RESOLUTION",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.priority`,name="PRIORITY",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
type PropagationPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the policy.
	// +required
	Spec PropagationSpec `json:"spec"`
}

// PropagationPolicyList is a list of PropagationPolicies.
//
// +kubebuilder:object:root=true
type PropagationPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PropagationPolicy `json:"items"`
}

// ClusterPropagationPolicy says to which clusters templates of any namespace, and
// cluster-scoped templates, go.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=cpp,categories={karmada-io}
// +kubebuilder:printcolumn:JSONPath=`.spec.conflictResolution`,name="CONFLICT-RESOLUTION",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.priority`,name="PRIORITY",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
type ClusterPropagationPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the policy.
	// +required
	Spec PropagationSpec `json:"spec"`
}

// ClusterPropagationPolicyList is a list of ClusterPropagationPolicies.
//
// +kubebuilder:object:root=true
type ClusterPropagationPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterPropagationPolicy `json:"items"`
}

// PropagationSpec is the body of both propagation policies.
type PropagationSpec struct {
	// ResourceSelectors pick the templates that this policy is about; one match is
	// enough.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	ResourceSelectors []ResourceSelector `json:"resourceSelectors"`

	// Association is deprecated and has no effect; use propagateDeps.
	// +optional
	Association bool `json:"association,omitempty"`

	// PropagateDeps takes what a template refers to (ConfigMaps, Secrets, …) along
	// to wherever the template goes.
	// +optional
	PropagateDeps bool `json:"propagateDeps,omitempty"`

	// Placement says which clusters, and how replicas are shared among them. Absent
	// means a copy in every cluster.
	// +optional
	Placement Placement `json:"placement,omitempty"`

	// Priority decides between policies that match the same template; the highest
	// wins. It may be negative.
	// +optional
	// +kubebuilder:default=0
	Priority *int32 `json:"priority,omitempty"`

	// Preemption lets this policy take over templates that another policy of lower
	// priority has claimed.
	// +optional
	// +kubebuilder:default=Never
	// +kubebuilder:validation:Enum=Always;Never
	Preemption PreemptionBehavior `json:"preemption,omitempty"`

	// DependentOverrides names override policies that must exist before this policy
	// is applied: OverridePolicies of the same namespace for a PropagationPolicy,
	// ClusterOverridePolicies for a ClusterPropagationPolicy.
	// +optional
	DependentOverrides []string `json:"dependentOverrides,omitempty"`

	// SchedulerName names the scheduler that places the bindings of this policy. It
	// cannot be changed.
	// +optional
	// +kubebuilder:default=default-scheduler
	SchedulerName string `json:"schedulerName,omitempty"`

	// Failover says when and how an application leaves a cluster. Absent means
	// never.
	// +optional
	Failover *FailoverBehavior `json:"failover,omitempty"`

	// ConflictResolution says what to do with an object that exists in a member and
	// is not ours: leave it and report (Abort), or take it over (Overwrite).
	// +optional
	// +kubebuilder:default=Abort
	// +kubebuilder:validation:Enum=Abort;Overwrite
	ConflictResolution ConflictResolution `json:"conflictResolution,omitempty"`

	// ActivationPreference Lazy delays the effect of a change of this policy on
	// templates that it has claimed until the template itself changes.
	// +optional
	// +kubebuilder:validation:Enum=Lazy
	ActivationPreference ActivationPreference `json:"activationPreference,omitempty"`

	// Suspension stops the delivery to members, everywhere or for some clusters.
	// +optional
	Suspension *Suspension `json:"suspension,omitempty"`

	// PreserveResourcesOnDeletion leaves the objects in the members when the
	// template is deleted.
	// +optional
	PreserveResourcesOnDeletion *bool `json:"preserveResourcesOnDeletion,omitempty"`

	// SchedulePriority orders bindings that wait for the scheduler.
	// +optional
	SchedulePriority *SchedulePriority `json:"schedulePriority,omitempty"`
}

// PreemptionBehavior says whether a policy takes templates from others.
type PreemptionBehavior string

// Values of PreemptionBehavior.
const (
	PreemptAlways PreemptionBehavior = "Always"
	PreemptNever  PreemptionBehavior = "Never"
)

// ConflictResolution says what happens to an object in a member that is not ours.
type ConflictResolution string

// Values of ConflictResolution.
const (
	ConflictAbort     ConflictResolution = "Abort"
	ConflictOverwrite ConflictResolution = "Overwrite"
)

// ActivationPreference says when a change of a policy takes effect.
type ActivationPreference string

// LazyActivation waits for a change of the template.
const LazyActivation ActivationPreference = "Lazy"

// Suspension stops the delivery of Works.
type Suspension struct {
	// Dispatching stops delivery to every cluster.
	// +optional
	Dispatching *bool `json:"dispatching,omitempty"`

	// DispatchingOnClusters stops delivery to the clusters that it names.
	// +optional
	DispatchingOnClusters *SuspendClusters `json:"dispatchingOnClusters,omitempty"`
}

// SuspendClusters names clusters.
type SuspendClusters struct {
	// ClusterNames are the clusters to which nothing is delivered.
	// +optional
	ClusterNames []string `json:"clusterNames,omitempty"`
}

// SchedulePriority points at a priority.
type SchedulePriority struct {
	// PriorityClassSource says what kind of object priorityClassName names.
	// +required
	// +kubebuilder:validation:Enum=KubePriorityClass
	PriorityClassSource PriorityClassSource `json:"priorityClassSource"`

	// PriorityClassName is the name of that object on the hub.
	// +required
	PriorityClassName string `json:"priorityClassName"`
}

// PriorityClassSource is where a priority comes from.
type PriorityClassSource string

// KubePriorityClass is a PriorityClass of scheduling.k8s.io/v1 on the hub.
const KubePriorityClass PriorityClassSource = "KubePriorityClass"
