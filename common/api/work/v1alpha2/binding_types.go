package v1alpha2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
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

// GracefulEvictionTask is a cluster that the application is leaving.
type GracefulEvictionTask struct {
	// FromCluster is the cluster that is left.
	// +required
	FromCluster string `json:"fromCluster"`

	// PurgeMode says what happens to the copy there.
	// +optional
	// +kubebuilder:validation:Enum=Directly;Gracefully;Never;Immediately;Graciously
	PurgeMode policyv1alpha1.PurgeMode `json:"purgeMode,omitempty"`

	// Replicas that were there.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Reason is one word for why.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`
	Reason string `json:"reason"`

	// Message says more.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// Producer names the controller that made the task.
	// +required
	Producer string `json:"producer"`

	// GracePeriodSeconds is how long the old copy may wait for the new one.
	// +optional
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`

	// SuppressDeletion keeps the task, and with it the old copy, until it is set to
	// false or removed.
	// +optional
	SuppressDeletion *bool `json:"suppressDeletion,omitempty"`

	// PreservedLabelState has the values that were read from the status of the old copy, by label.
	// +optional
	PreservedLabelState map[string]string `json:"preservedLabelState,omitempty"`

	// CreationTimestamp is when the task was made.
	// +optional
	CreationTimestamp *metav1.Time `json:"creationTimestamp,omitempty"`

	// ClustersBeforeFailover are the clusters that had the application before.
	// +optional
	ClustersBeforeFailover []string `json:"clustersBeforeFailover,omitempty"`
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

// Condition types of a binding.
const (
	// BindingScheduled says whether clusters were found. Written by the scheduler.
	BindingScheduled = "Scheduled"
	// BindingRendered is False if some cluster's Work could not be made or written, so that
	// the cluster keeps what it has, and why; it is absent otherwise. Written by the binding
	// stage. It is ours.
	BindingRendered = "Rendered"
	// BindingFullyApplied says whether every cluster has what it should. Written by
	// the status stage.
	BindingFullyApplied = "FullyApplied"
	// BindingEvicting says that the application is leaving a cluster, or should and
	// cannot, and why; it is absent otherwise. Written by failover. It is ours.
	BindingEvicting = "Evicting"
	// BindingRollingOut says that a revision is on its way to the clusters in waves, or is held up,
	// and what it waits for; it is absent otherwise. Written by the rollout stage. It is ours.
	BindingRollingOut = "RollingOut"
	// BindingStale says which clusters are silent, so that what is shown of them is what
	// they said last; it is absent otherwise. Written by the status stage. It is ours.
	BindingStale = "Stale"
	// BindingDependencyPolicyConflict says in which options the policies of the workloads
	// differ that need the object, and with which values; it is absent otherwise. Written by
	// the dependencies stage. It is ours.
	BindingDependencyPolicyConflict = "DependencyPolicyConflict"
	// BindingDependenciesLeftOut says what of the objects that a workload needs is not sent after it, since their
	// bindings have no room to name its clusters; it is absent otherwise. Written by the dependencies stage. It is ours.
	BindingDependenciesLeftOut = "DependenciesLeftOut"
	// TemplateConditionCurrent, in the status of Deployments and their like, says how many
	// clusters the status is made of; it is False while some of them are silent. Written
	// by the status stage. It is ours.
	TemplateConditionCurrent = "fairlead.dev/Current"
)

// Reasons of the conditions of a binding.
const (
	// ReasonScheduledSuccess : clusters were found.
	ReasonScheduledSuccess = "Success"
	// ReasonSchedulerError : the scheduler could not decide; it tries again.
	ReasonSchedulerError = "SchedulerError"
	// ReasonNoClusterFit : no cluster passes the filters.
	ReasonNoClusterFit = "NoClusterFit"
	// ReasonUnschedulable : the clusters that pass have no room.
	ReasonUnschedulable = "Unschedulable"
	// ReasonQuotaExceeded : a FederatedResourceQuota forbids it.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonOverrideFailed : an override policy cannot be applied.
	ReasonOverrideFailed = "OverrideFailed"
	// ReasonWorkFailed : a Work could not be made or written.
	ReasonWorkFailed = "WorkFailed"
	// ReasonFullyAppliedSuccess : every cluster has what it should.
	ReasonFullyAppliedSuccess = "FullyAppliedSuccess"
	// ReasonFullyAppliedFailed : some cluster has not.
	ReasonFullyAppliedFailed = "FullyAppliedFailed"
	// ReasonClustersSilent : some clusters are not heard from.
	ReasonClustersSilent = "ClustersSilent"
	// ReasonStatusLeftOut : what some clusters report is not fit to be added up.
	ReasonStatusLeftOut = "StatusLeftOut"
	// ReasonAllReport : all clusters are heard from.
	ReasonAllReport = "AllReport"
	// ReasonWaitingForReplacement : the old copy stays until the new one is healthy.
	ReasonWaitingForReplacement = "WaitingForReplacement"
	// ReasonWaitingForCluster : the cluster that is left is silent; what to do about the copy
	// there is decided when it is heard from again.
	ReasonWaitingForCluster = "WaitingForCluster"
	// ReasonWaitingForRoom : no cluster takes the new copy; the old one stays.
	ReasonWaitingForRoom = "WaitingForRoom"
	// ReasonDispatchingSuspended : the old copy stays, because dispatching to the clusters that are
	// to have the new one is suspended.
	ReasonDispatchingSuspended = "DispatchingSuspended"
	// ReasonWaitingForOldCopy : the new copies wait until the old one is gone.
	ReasonWaitingForOldCopy = "WaitingForOldCopy"
	// ReasonOldCopyKept : the old copy stays until somebody lets it go.
	ReasonOldCopyKept = "OldCopyKept"
	// ReasonHubSuspectsItself : so many clusters are silent that nothing is evicted.
	ReasonHubSuspectsItself = "HubSuspectsItself"
	// ReasonOthersAreBack : clusters that were silent at once are back, and those that
	// are not yet are given time.
	ReasonOthersAreBack = "OthersAreBack"
	// ReasonNowhereToGo : the application is not healthy where it is, and no other
	// cluster would take it.
	ReasonNowhereToGo = "NowhereToGo"
	// ReasonRolloutJudges : the application is not healthy on a revision that is being rolled out,
	// so that the rollout counts it as failed there, and it does not move.
	ReasonRolloutJudges = "RolloutJudges"
	// ReasonStateNotPreserved : the state that is to go along cannot be read.
	ReasonStateNotPreserved = "StateNotPreserved"
	// ReasonOptionsDiffer : the policies of those that need an object differ.
	ReasonOptionsDiffer = "OptionsDiffer"
	// ReasonBindingTooLarge : a binding would be larger than what is stored.
	ReasonBindingTooLarge = "BindingTooLarge"
)

// Reasons of eviction tasks, and who makes them.
const (
	// EvictionTaintUntolerated : the cluster has a NoExecute taint.
	EvictionTaintUntolerated = "TaintUntolerated"
	// EvictionApplicationFailure : the application is not healthy there.
	EvictionApplicationFailure = "ApplicationFailure"
	// EvictionClusterRemoved : the Cluster is being deleted.
	EvictionClusterRemoved = "ClusterRemoved"
	// EvictionPreferred : clusters that the placement prefers have room again, or a decision
	// from scratch was asked for.
	EvictionPreferred = "PreferredElsewhere"
	// ProducerScheduler makes the tasks of this reason. They do not end by time: nobody needs
	// the move, so the copy that works stays.
	ProducerScheduler = "Scheduler"
	// EvictionNotAllowed : the namespace may not use the cluster any more.
	EvictionNotAllowed = "ClusterNotAllowed"
	// ProducerNamespaceClusters makes the tasks of this reason. They end by time whether or not another cluster takes the place.
	ProducerNamespaceClusters = "NamespaceClusters"
	// ProducerClusterRemoval makes the tasks of EvictionClusterRemoved.
	ProducerClusterRemoval = "ClusterRemoval"
	// ProducerTaintManager makes the tasks of the first reason.
	ProducerTaintManager = "TaintManager"
	// ProducerApplicationFailover and ProducerClusterApplicationFailover make those of
	// the second, for each kind of binding.
	ProducerApplicationFailover        = "resource-binding-application-failover-controller"
	ProducerClusterApplicationFailover = "cluster-resource-binding-application-failover-controller"
)

// How evictions end.
const (
	// EvictionReplaced : every target is healthy.
	EvictionReplaced = "Replaced"
	// EvictionTimedOut : the grace period is over.
	EvictionTimedOut = "TimedOut"
	// EvictionReleased : somebody let the old copy go.
	EvictionReleased = "Released"
	// EvictionGone : the cluster is no more, or was given up.
	EvictionGone = "Gone"
	// EvictionAbandoned : the cluster is being removed, and no other fits.
	EvictionAbandoned = "Abandoned"
	// EvictionReturned : the cause is gone, and the copy stays where it was.
	EvictionReturned = "Returned"
)

// ResourceBindingStatus is the observed state of a template in its clusters.
type ResourceBindingStatus struct {
	// SchedulerObservedGeneration is the generation that the scheduler has dealt
	// with.
	// +optional
	SchedulerObservedGeneration int64 `json:"schedulerObservedGeneration,omitempty"`

	// SchedulerObservedAffinityName is the group of clusterAffinities in use.
	// +optional
	SchedulerObservedAffinityName string `json:"schedulerObservingAffinityName,omitempty"`

	// LastScheduledTime is when the scheduler last succeeded, or last looked at what
	// spec.rescheduleTriggeredAt asks for.
	// +optional
	LastScheduledTime *metav1.Time `json:"lastScheduledTime,omitempty"`

	// Conditions are Scheduled, which the scheduler writes, FullyApplied and Stale, which the status
	// stage writes, Rendered (the binding stage), Evicting (failover), RollingOut (the rollout stage)
	// and DependencyPolicyConflict (the dependencies stage).
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// AggregatedStatus has an item for each cluster, by name.
	// +optional
	AggregatedStatus []AggregatedStatusItem `json:"aggregatedStatus,omitempty"`

	// TemplateStatusOf is a hash of what the status of the template was last made of beside the items: the
	// template, and what adds them up. As long as neither changes, the status of the template is that of the
	// items, and a hub that starts does not read it. It is the hub's own.
	// +optional
	TemplateStatusOf string `json:"templateStatusOf,omitempty"`

	// DependenciesOf is a hash of what the annotation with the dependencies was last read from, and of that annotation: the
	// template, and what reads it. As long as none of these changes, a hub that starts does not read the template to
	// know what it needs. It is the hub's own, and empty where that may change otherwise.
	// +optional
	DependenciesOf string `json:"dependenciesOf,omitempty"`
}

// AggregatedStatusItem is the report of one cluster.
type AggregatedStatusItem struct {
	// ClusterName is the cluster.
	// +required
	ClusterName string `json:"clusterName"`

	// Status is the object's status in the cluster, as the cluster reported it.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status *runtime.RawExtension `json:"status,omitempty"`

	// Applied says whether the cluster has the object as asked for.
	// +optional
	Applied bool `json:"applied,omitempty"`

	// AppliedMessage says why not.
	// +optional
	AppliedMessage string `json:"appliedMessage,omitempty"`

	// Health is how the object fares there.
	// +optional
	// +kubebuilder:validation:Enum=Healthy;Unhealthy;Unknown
	Health workv1alpha1.ResourceHealth `json:"health,omitempty"`

	// PodReasons say why pods of the object are not ready there, as the cluster's Work has it;
	// of many clusters only the first reason of each, or of the first clusters by name. It is
	// ours.
	// +optional
	// +kubebuilder:validation:MaxItems=5
	PodReasons []workv1alpha1.PodReason `json:"podReasons,omitempty"`

	// StaleSince is since when the cluster is silent: all of this is what it said before.
	// It is absent as long as the cluster is heard from. It is ours.
	// +optional
	StaleSince *metav1.Time `json:"staleSince,omitempty"`
}
