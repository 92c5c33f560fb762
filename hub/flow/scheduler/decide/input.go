package decide

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/quota"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/assign"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// Input is all that a decision depends on. Nothing of it is changed.
type Input struct {
	// Spec of the binding.
	Spec *workv1alpha2.ResourceBindingSpec
	// AppliedPlacement is the placement of the last decision, as JSON; empty before
	// the first.
	AppliedPlacement string
	// ObservedAffinity is the group of clusterAffinities in use.
	ObservedAffinity string
	// LastScheduled is when the last decision was made.
	LastScheduled *metav1.Time
	// Pending is the wish for a decision from scratch that was looked at and could not be done,
	// as in the annotation; empty if there is none.
	Pending string
	// Answered is the wish for a decision from scratch that was done though it is later than the last decision, as in the
	// annotation; empty if there is none.
	Answered string
	// Clusters are all that there are, in any order; it is faster by name.
	Clusters []*clusterv1alpha1.Cluster
	// Assumed is what was assigned to clusters and is not in their reports yet.
	Assumed fit.Reservations
	// Peers are the workloads of the same affinity groups.
	Peers fit.Peers
	// APIPending are the clusters that get the API of the binding's template from this hub.
	APIPending bindings.Clusters
	// Past is what the binding remembers of evictions: what took the place of copies that it leaves.
	Past []workv1alpha2.Eviction
	// FailedIn are the clusters in which the application was given up of late, because it
	// was not healthy there: it goes to others, as long as there are any.
	FailedIn []string
	// Allowance is which clusters the namespace may use; nil is all.
	Allowance *selector.Allowance
	// Quotas are those of the namespace.
	Quotas []quota.Quota
	// AdmittedRequests is what of the binding's requests was compared with the quotas, as in the
	// annotation; empty if nothing was.
	AdmittedRequests string
	// ReturnToPreferred goes back to a group of clusterAffinities that is preferred
	// to the one in use once the application fits into it. StayInOverflow leaves replicas
	// where they overflowed to when the clusters that they were meant for have room.
	ReturnToPreferred, StayInOverflow bool
	// FailbackDue says that a better place has been there for long enough to go there.
	FailbackDue bool
	// Explain asks for what a person wants to know and a decision does without: the
	// details of verdicts, and capacities that do not matter.
	Explain bool
	// Memo remembers for the next decision what it has in common with this one; nil remembers nothing.
	Memo *Memo

	// placement is that of the spec, as JSON.
	placement string
	// copies are the replicas of old copies that are still there, by cluster: see takeBack.
	copies map[string]int32
	// recall has takeBack count what the application is leaving for a better place.
	recall bool
	// shunned are clusters that a question takes away, and in which there is nothing to leave.
	shunned []string
}

// Outcome is what a decision comes to.
type Outcome int

// Outcomes.
const (
	// Keep : nothing calls for a new decision; the targets stay.
	Keep Outcome = iota
	// Scheduled : the targets are those of the decision.
	Scheduled
	// NoClusterFit : no cluster passes the filters; there are no targets.
	NoClusterFit
	// Unschedulable : clusters pass the filters and have too little room, or cannot
	// be spread as the placement wants; the targets stay until that changes.
	Unschedulable
	// OverQuota : a quota forbids the targets; those that there are stay until that changes.
	OverQuota
	// Refused : the placement contradicts itself or cannot be read, or it cannot be said which clusters
	// the namespace may use; the targets stay until somebody mends it.
	Refused
)

// Trigger is what called for a decision.
type Trigger string

// Triggers.
const (
	// TriggerNone : nothing did.
	TriggerNone Trigger = ""
	// TriggerPlacement : the placement is not that of the last decision.
	TriggerPlacement Trigger = "PlacementChanged"
	// TriggerReplicas : the targets do not add up to the replicas of the template.
	TriggerReplicas Trigger = "ReplicasChanged"
	// TriggerRequested : somebody asked for a decision from scratch.
	TriggerRequested Trigger = "RescheduleRequested"
	// TriggerFollows : the application is on every cluster that fits, and follows
	// the clusters as they come and change.
	TriggerFollows Trigger = "FollowsClusters"
	// TriggerTargetGone : a target is no more.
	TriggerTargetGone Trigger = "TargetGone"
	// TriggerTargetUnfit : a target is not one that the placement picks any more, or
	// it lost the API.
	TriggerTargetUnfit Trigger = "TargetUnfit"
	// TriggerPreferred : the application, or what overflowed of it, fits again into
	// clusters that are preferred to those in use.
	TriggerPreferred Trigger = "PreferredClustersFit"
)

// Verdict is what was decided about one cluster.
type Verdict struct {
	// Cluster is its name.
	Cluster string
	// Filter that kept it out; empty if none did.
	Filter string
	// Reason of the filter, and Detail with the values if an explanation was asked
	// for.
	Reason, Detail string
	// Score is how much the cluster is preferred, and Scores what each scorer says
	// of it if an explanation was asked for.
	Score  int64
	Scores []assign.Score
	// Estimated says that Capacity is known: how many more replicas, or sets of
	// components, fit and what limits that.
	Estimated bool
	Capacity  fit.Capacity
	// Limit is what kept the share from being larger; empty if nothing did.
	Limit string
	// Target says whether it is one, and Replicas what it gets.
	Target   bool
	Replicas int32
}

// Attempt is the try of one group of clusters.
type Attempt struct {
	// Affinity is the name of the group; empty without clusterAffinities.
	Affinity string
	// Verdicts about all clusters, by name; none if the decision was made with a Memo.
	Verdicts []Verdict
	// Message says why the group does not do; empty if it does.
	Message string
	// NoFit says that no cluster passes the filters.
	NoFit bool
}

// Departure is a cluster that is left for another one, though the application could stay:
// the copy there is to go only when the others are healthy. Or it is one that the namespace
// may not use any more: then the copy has time until the others are healthy.
type Departure struct {
	Cluster  string
	Replicas int32
	// NotAllowed says that the namespace may not use the cluster.
	NotAllowed bool
	// Why is a sentence.
	Why string
}

// Decision is the outcome and the reasons for it.
type Decision struct {
	Outcome Outcome
	// Trigger is what called for it.
	Trigger Trigger
	// Placement is the placement that was used, as JSON.
	Placement string
	// AdmittedRequests is what the annotation is to say; empty where there are no quotas.
	AdmittedRequests string
	// Pending is what the annotation is to say of a decision from scratch that was asked for and
	// could not be made; empty if none is open.
	Pending string
	// Answered is the last wish for a decision from scratch, if it is done; empty if it is open.
	Answered string
	// Targets by name, not to be changed: where they are those that the binding has, they are shared with its spec. Of Keep, Unschedulable, OverQuota and Refused, those that the binding has, without what it has to leave.
	Targets []workv1alpha2.TargetCluster
	// Leave are targets that are left in their own time, by name. Whatever the outcome, what the namespace may not use is left.
	Leave []Departure
	// Return are targets whose eviction is taken back, by name: the old copy is still there.
	Return []string
	// NotPreferred says that there are clusters that are preferred to the targets: capacity that
	// is freed in one of them requeues the binding.
	NotPreferred bool
	// FailbackReason says in sentences why there is a better place, to which the application goes
	// once that has settled; empty if there is none.
	FailbackReason string
	// Affinity is the group in use; empty without clusterAffinities.
	Affinity string
	// Attempts in the order in which they were made. The last one is that which
	// succeeded, if any did.
	Attempts []Attempt
	// Message says why there are no targets, or what was refused, or how many replicas are
	// placed nowhere though there are targets.
	Message string
}
