package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

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

// Eviction is one departure of an application from a cluster, as its binding remembers it
// in the annotations contract.EvictionsAnnotation and contract.EvictionsPackedAnnotation: also when the task is over.
//
// +kubebuilder:object:generate=false
type Eviction struct {
	// From is the cluster that was left.
	From string `json:"from"`
	// At is when, to the second.
	At metav1.Time `json:"at"`
	// Reason is that of the task, and Message the sentence.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Template is spec.resource.resourceVersion then: another version of the template
	// may fare better in that cluster.
	Template string `json:"template,omitempty"`
	// Before are the targets before it, by name, as long as it is under way: made by evictions.TargetsBefore. Nil is that they
	// are not known, because there was no room for them; then nobody is known to have gained.
	Before []TargetCluster `json:"before,omitzero"`
	// To are the clusters that took the place, the first of them if these are many, Ended is when it was over, and How
	// the way in which it ended.
	To    []string     `json:"to,omitempty"`
	Ended *metav1.Time `json:"ended,omitempty"`
	How   string       `json:"how,omitempty"`
}
