package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

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
	// ReasonNamespaceTerminating : the namespace of the template is being deleted, and its Works stay as they are until they go.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonEditNotSeen : it is not known yet how edits of the template reach clusters.
	ReasonEditNotSeen = "EditNotSeen"
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
