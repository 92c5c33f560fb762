package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// RolloutStrategy says in which waves a changed template, override or dependency reaches
// clusters. A policy opts in by the annotation fairlead.dev/rollout-strategy, which a template
// may have, too, or its namespace or itself is selected.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=rolloutstrategies,shortName=rost
// +kubebuilder:printcolumn:JSONPath=`.spec.waves[*].name`,name="WAVES",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.onFailure`,name="ON-FAILURE",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
type RolloutStrategy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is written by operators. A rollout that has begun goes on with the one it began with.
	// +required
	Spec RolloutStrategySpec `json:"spec"`
}

// RolloutStrategyList is a list of RolloutStrategies.
//
// +kubebuilder:object:root=true
type RolloutStrategyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RolloutStrategy `json:"items"`
}

// RolloutStrategySpec is the body of a RolloutStrategy, and what a revision keeps of it.
type RolloutStrategySpec struct {
	// NamespaceSelector picks namespaces by their labels, whatever policies and templates there are
	// annotated with: the strategy is forced on all templates there that a policy has or had. Whoever may
	// only write in a namespace cannot take that off, since the labels of a Namespace are not theirs.
	// What only follows workloads, which no policy has, goes out with these.
	// Templates of cluster-scoped kinds are in no namespace. If PolicySelector is there as well, both
	// must pick. Of several strategies that pick a template, the first by name counts. None if absent.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// PolicySelector picks policies by their labels, whatever these and their templates are
	// annotated with: the strategy is forced on what these policies have. It binds no tenant:
	// whoever may edit a PropagationPolicy may change its labels, or have another policy select the
	// template. To bind them use NamespaceSelector alone. None if absent.
	// +optional
	PolicySelector *metav1.LabelSelector `json:"policySelector,omitempty"`

	// Settle is how long after an edit the hub waits for further ones: edits this close are one
	// revision. At most 30 s.
	// +optional
	// +kubebuilder:default="2s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must be a duration that is not negative, such as 30s, 5m or 168h"
	Settle *metav1.Duration `json:"settle,omitempty"`

	// Waves are gone through in this order. Clusters that are in none are the last wave, which is
	// called rest. A cluster is in the first wave that it fits in.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:default={{name: "canary", size: 1},{name: "tenth", size: "10%"}}
	Waves []Wave `json:"waves,omitempty"`

	// ProgressDeadline is how long a cluster may take from being sent a revision until it is
	// healthy; after that it has failed. Time while the cluster is silent does not count.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must be a duration that is not negative, such as 30s, 5m or 168h"
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`

	// OnFailure says what is done when a wave has more failures than it may: Halt sends the revision
	// nowhere else, RollBack also takes it back where it was sent.
	// +optional
	// +kubebuilder:validation:Enum=Halt;RollBack
	// +kubebuilder:default=Halt
	OnFailure FailureAction `json:"onFailure,omitempty"`

	// FirstTime says how the first revision goes out, when nothing is stable yet: AllAtOnce, or
	// Staged like any other. If absent it is Staged where any wave asks for an approval, and else
	// AllAtOnce. With AllAtOnce whoever may delete a template and make it anew passes every approval.
	// +optional
	// +kubebuilder:validation:Enum=AllAtOnce;Staged
	FirstTime FirstTime `json:"firstTime,omitempty"`

	// CatchUp says how clusters that were silent while their wave went by are served when they
	// return.
	// +optional
	// +kubebuilder:default={}
	CatchUp CatchUp `json:"catchUp,omitempty"`

	// HistoryLimit is how many revisions are kept that no cluster has and that are not stable.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50
	HistoryLimit *int32 `json:"historyLimit,omitempty"`
}

// FailureAction says what is done when a wave fails.
type FailureAction string

// Values of FailureAction.
const (
	OnFailureHalt     FailureAction = "Halt"
	OnFailureRollBack FailureAction = "RollBack"
)

// FirstTime says how the first revision goes out.
type FirstTime string

// Values of FirstTime.
const (
	FirstTimeAllAtOnce FirstTime = "AllAtOnce"
	FirstTimeStaged    FirstTime = "Staged"
)

// WaveRest is the wave of the clusters that are in no other.
const WaveRest = "rest"

// Wave is one step of a rollout: some clusters, and when they have passed.
type Wave struct {
	// Name is shown to people, and named by approvals. The last wave of all others is called rest;
	// a strategy may say more of it by naming it last, without clusters and size.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Clusters says which of the targets may be in the wave; any if absent.
	// +optional
	Clusters *policyv1alpha1.ClusterAffinity `json:"clusters,omitempty"`

	// Size is how many clusters the wave has: a number, or a percentage of all targets, rounded
	// up. All that match if absent.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 1 && self <= 1000000",message="must be a number of clusters from 1, or a percentage from 1% to 100%; leave it out for all that match"
	Size *intstr.IntOrString `json:"size,omitempty"`

	// OrderByLabel is a label of Clusters by which they are taken: as numbers if all are numbers,
	// those without it last. Clusters alike are taken in an order that differs from application to
	// application.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	OrderByLabel string `json:"orderByLabel,omitempty"`

	// MaxConcurrent is how many clusters of the wave may have been sent the revision and not be
	// healthy yet: a number, or a percentage of the wave, rounded down, at least 1.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:default="100%"
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 1 && self <= 1000000",message="must be a number of clusters from 1, or a percentage from 1% to 100%"
	MaxConcurrent *intstr.IntOrString `json:"maxConcurrent,omitempty"`

	// MinUpdated is how many clusters must be healthy with the revision before the wave can pass: a
	// wave whose clusters are all silent does not. Clusters that the change does not concern do
	// not count. It is bounded by the number of clusters in the wave that the change concerns.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	MinUpdated *int32 `json:"minUpdated,omitempty"`

	// Soak is how long the wave must be well without a break before it has passed; 0 by default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must be a duration that is not negative, such as 30s, 5m or 168h"
	Soak *metav1.Duration `json:"soak,omitempty"`

	// Approval says whether a person approves: Before the wave begins, After it is well, or None.
	// +optional
	// +kubebuilder:validation:Enum=None;Before;After
	// +kubebuilder:default=None
	Approval ApprovalPoint `json:"approval,omitempty"`

	// MaxFailures is how many clusters of the wave may fail: a number, or a percentage of the wave
	// less those set aside, rounded down.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:default=0
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0 && self <= 1000000",message="must be a number of clusters from 0, or a percentage from 0% to 100%"
	MaxFailures *intstr.IntOrString `json:"maxFailures,omitempty"`
}

// ApprovalPoint says when a person approves a wave.
type ApprovalPoint string

// Values of ApprovalPoint.
const (
	ApprovalNone   ApprovalPoint = "None"
	ApprovalBefore ApprovalPoint = "Before"
	ApprovalAfter  ApprovalPoint = "After"
)

// CatchUp says how clusters that were set aside are served when they return.
type CatchUp struct {
	// MaxClusters is how many clusters may be catching up at a time, over all rollouts of the
	// strategy: a cluster that catches up with all its applications is one.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MaxClusters *int32 `json:"maxClusters,omitempty"`

	// Settle is how long a cluster must be heard from before it is in the queue.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must be a duration that is not negative, such as 30s, 5m or 168h"
	Settle *metav1.Duration `json:"settle,omitempty"`

	// To says what they get: Stable is the last revision that has passed every wave. Newest is the
	// one that is being rolled out: they wait until their wave has been opened.
	// +optional
	// +kubebuilder:validation:Enum=Stable;Newest
	// +kubebuilder:default=Stable
	To CatchUpTo `json:"to,omitempty"`

	// WarnAfter is how long a cluster may be set aside until a warning names it. It is never
	// dropped.
	// +optional
	// +kubebuilder:default="168h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must be a duration that is not negative, such as 30s, 5m or 168h"
	WarnAfter *metav1.Duration `json:"warnAfter,omitempty"`
}

// CatchUpTo says what clusters that return get.
type CatchUpTo string

// Values of CatchUpTo.
const (
	CatchUpToStable CatchUpTo = "Stable"
	CatchUpToNewest CatchUpTo = "Newest"
)
