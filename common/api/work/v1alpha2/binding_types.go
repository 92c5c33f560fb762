package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// ResourceBinding binds one namespaced template to the clusters that the hub chose for it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=rb,categories={karmada-io}
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Scheduled")].status`,name="SCHEDULED",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="FullyApplied")].status`,name="FULLYAPPLIED",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Evicting")].reason`,name="EVICTING",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Stale")].status`,name="STALE",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Stale")].message`,name="STALE CLUSTERS",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
type ResourceBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec has the template, its policy and the chosen clusters.
	// +required
	Spec ResourceBindingSpec `json:"spec"`

	// Status is the observed state of the template in its clusters.
	// +optional
	Status ResourceBindingStatus `json:"status,omitempty"`
}

// ResourceBindingList is a list of ResourceBindings.
//
// +kubebuilder:object:root=true
type ResourceBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ResourceBinding `json:"items"`
}

// ClusterResourceBinding binds one cluster-scoped template to the clusters that the hub chose for it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Cluster,shortName=crb,categories={karmada-io}
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Scheduled")].status`,name="SCHEDULED",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="FullyApplied")].status`,name="FULLYAPPLIED",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Evicting")].reason`,name="EVICTING",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Stale")].status`,name="STALE",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Stale")].message`,name="STALE CLUSTERS",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
type ClusterResourceBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec has the template, its policy and the chosen clusters.
	// +required
	Spec ResourceBindingSpec `json:"spec"`

	// Status is the observed state of the template in its clusters.
	// +optional
	Status ResourceBindingStatus `json:"status,omitempty"`
}

// ClusterResourceBindingList is a list of ClusterResourceBindings.
//
// +kubebuilder:object:root=true
type ClusterResourceBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterResourceBinding `json:"items"`
}

// ResourceBindingSpec has the template, its policy and the chosen clusters.
type ResourceBindingSpec struct {
	// Resource is the template. Written by the detector.
	// +required
	Resource ObjectReference `json:"resource"`

	// PropagateDeps takes what the template refers to along. Written by the
	// detector, from the policy.
	// +optional
	PropagateDeps bool `json:"propagateDeps,omitempty"`

	// ReplicaRequirements are the requirements of one replica. Written by the detector; absent for an object that is not a workload or
	// requests nothing.
	// +optional
	ReplicaRequirements *ReplicaRequirements `json:"replicaRequirements,omitempty"`

	// Replicas is how many replicas the template asks for. Written by the detector.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Components are the pod templates of a workload that has several. Written by
	// the detector.
	// +optional
	Components []Component `json:"components,omitempty"`

	// Clusters are the clusters that get the template. Written by the scheduler;
	// eviction removes entries.
	// +optional
	Clusters []TargetCluster `json:"clusters,omitempty"`

	// Placement is copied from the policy by the detector.
	// +optional
	Placement *policyv1alpha1.Placement `json:"placement,omitempty"`

	// GracefulEvictionTasks are the clusters that the application is leaving.
	// Written by the stages that evict.
	// +optional
	GracefulEvictionTasks []GracefulEvictionTask `json:"gracefulEvictionTasks,omitempty"`

	// RequiredBy are the bindings whose templates refer to this one. Their clusters
	// get this template as well. Written by the dependencies stage.
	// +optional
	RequiredBy []BindingSnapshot `json:"requiredBy,omitempty"`

	// SchedulerName names the scheduler that is to place this binding. Written by
	// the detector, from the policy.
	// +optional
	SchedulerName string `json:"schedulerName,omitempty"`

	// Failover is copied from the policy by the detector.
	// +optional
	Failover *policyv1alpha1.FailoverBehavior `json:"failover,omitempty"`

	// ConflictResolution is copied from the policy by the detector.
	// +optional
	// +kubebuilder:default=Abort
	// +kubebuilder:validation:Enum=Abort;Overwrite
	ConflictResolution policyv1alpha1.ConflictResolution `json:"conflictResolution,omitempty"`

	// RescheduleTriggeredAt asks for an assignment from scratch when it is later
	// than status.lastScheduledTime. A time that is yet to come asks at once, and once.
	// +optional
	RescheduleTriggeredAt *metav1.Time `json:"rescheduleTriggeredAt,omitempty"`

	// Suspension stops delivery, or scheduling. The detector writes what the policy
	// says and keeps scheduling, which belongs to others.
	// +optional
	Suspension *Suspension `json:"suspension,omitempty"`

	// PreserveResourcesOnDeletion is copied from the policy by the detector.
	// +optional
	PreserveResourcesOnDeletion *bool `json:"preserveResourcesOnDeletion,omitempty"`

	// PreservedIn are the clusters where the object stays in any case when it goes: a workload that needed it was
	// preserved there, and runs with it. Sorted. Written by the dependencies stage; a cluster stays on the list until
	// somebody takes it off.
	// +optional
	PreservedIn []string `json:"preservedIn,omitempty"`

	// SchedulePriority orders the scheduler's queue. Written by the detector.
	// +optional
	SchedulePriority *SchedulePriority `json:"schedulePriority,omitempty"`

	// WorkloadAffinityGroups are the groups that keep workloads together or apart.
	// Written by the detector.
	// +optional
	WorkloadAffinityGroups *WorkloadAffinityGroups `json:"workloadAffinityGroups,omitempty"`
}

// ObjectReference names one template.
type ObjectReference struct {
	// APIVersion of the template.
	// +required
	APIVersion string `json:"apiVersion"`

	// Kind of the template.
	// +required
	Kind string `json:"kind"`

	// Namespace of the template; empty for a cluster-scoped one.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the template.
	// +required
	Name string `json:"name"`

	// UID of the template.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// ResourceVersion of the template when the detector last saw it: a change of
	// the template is a change of the binding, which wakes the later stages.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// TargetCluster is a cluster and its share.
type TargetCluster struct {
	// Name of the cluster.
	// +required
	Name string `json:"name"`

	// Replicas that the cluster gets; 0 for an object that is not a workload.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Components are the shares of the components of a workload with several.
	// +optional
	Components []TargetComponent `json:"components,omitempty"`
}

// TargetComponent is a component and its share.
type TargetComponent struct {
	// Name of the component.
	// +required
	Name string `json:"name"`

	// Replicas that the cluster gets of it.
	// +required
	Replicas int32 `json:"replicas"`
}

// BindingSnapshot is a binding that needs this one, and where it goes.
type BindingSnapshot struct {
	// Namespace of that binding.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of that binding.
	// +required
	Name string `json:"name"`

	// Clusters of that binding.
	// +optional
	Clusters []TargetCluster `json:"clusters,omitempty"`

	// SharedClusters stands in place of Clusters that several bindings of a namespace have alike: the hash of a list that an
	// entry without a name has for them, or of none. Written by the dependencies stage, where lists for each would be too
	// long to be stored. It is ours.
	// +optional
	SharedClusters string `json:"sharedClusters,omitempty"`

	// Preserve says whether what is deleted stays in the members, as the policy of that binding has it. Written by the
	// dependencies stage. Empty on what an older hub wrote, and for what is in a namespace.
	// +optional
	Preserve *bool `json:"preserve,omitempty"`
}

// Suspension stops delivery, or scheduling.
type Suspension struct {
	policyv1alpha1.Suspension `json:",inline"`

	// Scheduling stops the scheduler for this binding.
	// +optional
	Scheduling *bool `json:"scheduling,omitempty"`
}

// SchedulePriority is a resolved priority.
type SchedulePriority struct {
	// Priority is higher for what goes first.
	// +optional
	// +kubebuilder:default=0
	Priority int32 `json:"priority,omitempty"`
}

// WorkloadAffinityGroups are groups of workloads, each as key=value.
type WorkloadAffinityGroups struct {
	// AffinityGroup is the group that stays together.
	// +optional
	AffinityGroup string `json:"affinityGroup,omitempty"`

	// AntiAffinityGroup is the group that stays apart.
	// +optional
	AntiAffinityGroup string `json:"antiAffinityGroup,omitempty"`
}
