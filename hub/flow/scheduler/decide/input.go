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

// Input is everything that a decision depends on. It is read only, except for the Memo.
type Input struct {
	// Spec is the binding's spec.
	Spec *workv1alpha2.ResourceBindingSpec
	// AppliedPlacement is the placement of the last decision, as JSON, or the hash of a long one; empty before the first decision.
	AppliedPlacement string
	// ObservedAffinity is the group of clusterAffinities in use.
	ObservedAffinity string
	// LastScheduled is when the last decision was made.
	LastScheduled *metav1.Time
	// Pending is the value of the annotation reschedule-pending: the request for a decision from scratch that was considered and could
	// not be fulfilled; empty if there is none.
	Pending string
	// Answered is the value of the annotation reschedule-answered: the request for a decision from scratch that was fulfilled although it
	// is later than the last decision; empty if there is none.
	Answered string
	// Clusters are all clusters, in any order; sorted by name is faster.
	Clusters []*clusterv1alpha1.Cluster
	// Assumed is what was assigned to clusters and is not in their reports yet.
	Assumed fit.Reservations
	// Peers are the workloads of the same affinity groups.
	Peers fit.Peers
	// APIPending are the clusters to which this hub propagates the definition of the template's kind.
	APIPending bindings.Clusters
	// Past is the binding's history of evictions, which says what replaced the copies that it leaves.
	Past []workv1alpha2.Eviction
	// FailedIn are the clusters from which the application was recently evicted because it was unhealthy there. They are used only if it
	// fits nowhere else.
	FailedIn []string
	// Allowance says which clusters the namespace allows; nil means all.
	Allowance *selector.Allowance
	// Quotas are the quotas of the namespace.
	Quotas []quota.Quota
	// AdmittedRequests is the value of the annotation admitted-requests: the requests that were last admitted by quotas; empty if none
	// were.
	AdmittedRequests string
	// ReturnToPreferred lets the application return to a group of clusterAffinities before the one in use once it fits there.
	// StayInOverflow lets replicas stay in overflow clusters when the clusters before these have capacity again.
	ReturnToPreferred, StayInOverflow bool
	// FailbackDue says that preferred clusters have settled, so that the application moves there.
	FailbackDue bool
	// Explain asks for explanations that a decision does not need: the details of verdicts, and capacities that do not matter.
	Explain bool
	// Memo caches results for later decisions; nil caches nothing.
	Memo *Memo

	// placement is the spec's placement as JSON.
	placement string
	// copies are the replicas of old copies that are still there, by cluster: see takeBack.
	copies map[string]int32
	// recall lets takeBack also take back copies that the application is leaving for preferred clusters.
	recall bool
	// shunned are clusters without a copy that CouldPlaceWithout excludes.
	shunned []string
}

// Outcome is the result of a decision.
type Outcome int

// Outcomes.
const (
	// Keep : nothing calls for a new decision; the targets stay.
	Keep Outcome = iota
	// Scheduled : the targets are those of the decision.
	Scheduled
	// NoClusterFit : no cluster passes the filters; there are no targets.
	NoClusterFit
	// Unschedulable : clusters pass the filters, but have too little capacity or cannot satisfy the spread constraints; the targets stay
	// until that changes.
	Unschedulable
	// OverQuota : the targets would exceed a quota; the current ones stay until that changes.
	OverQuota
	// Refused : the placement is contradictory or invalid, or the clusters that the namespace allows cannot be determined; the targets stay
	// until somebody corrects that.
	Refused
)

// Trigger is the reason for making a new decision.
type Trigger string

// Triggers.
const (
	// TriggerNone : no new decision is needed.
	TriggerNone Trigger = ""
	// TriggerPlacement : the placement differs from that of the last decision.
	TriggerPlacement Trigger = "PlacementChanged"
	// TriggerReplicas : the replicas of the targets do not sum up to those of the template.
	TriggerReplicas Trigger = "ReplicasChanged"
	// TriggerRequested : a decision from scratch was requested.
	TriggerRequested Trigger = "RescheduleRequested"
	// TriggerFollows : the application goes to every cluster that fits, so each change of clusters needs a decision.
	TriggerFollows Trigger = "FollowsClusters"
	// TriggerTargetGone : the Cluster of a target does not exist any more.
	TriggerTargetGone Trigger = "TargetGone"
	// TriggerTargetUnfit : the placement does not select a target any more, or the target does not serve the API any more.
	TriggerTargetUnfit Trigger = "TargetUnfit"
	// TriggerPreferred : the application, or its overflow, fits again into clusters that are preferred to the current ones.
	TriggerPreferred Trigger = "PreferredClustersFit"
)

// Verdict is the result for one cluster.
type Verdict struct {
	// Cluster is the cluster's name.
	Cluster string
	// Filter is the filter that rejected the cluster; empty if none did.
	Filter string
	// Reason is the filter's reason, and Detail the reason with values, if Explain is set.
	Reason, Detail string
	// Score is the cluster's total score, and Scores that of each scorer, if Explain is set.
	Score  int64
	Scores []assign.Score
	// Estimated says that Capacity is known: how many more replicas, or sets of components, fit, and what limits them.
	Estimated bool
	Capacity  fit.Capacity
	// Limit is what kept the share from being larger; empty if nothing did.
	Limit string
	// Target says whether the cluster is a target, and Replicas how many it gets.
	Target   bool
	Replicas int32
}

// Attempt is the attempt to place the application in one group of clusters.
type Attempt struct {
	// Affinity is the name of the group; empty without clusterAffinities.
	Affinity string
	// Verdicts are the verdicts on all clusters, sorted by name; none if the decision was made with a Memo.
	Verdicts []Verdict
	// Message says why the attempt failed; empty if it succeeded.
	Message string
	// NoFit says that no cluster passes the filters.
	NoFit bool
}

// Departure is a cluster that the application leaves gracefully: its copy is removed only when the others are healthy. Either the
// application could stay but moves elsewhere, or the namespace does not allow the cluster any more.
type Departure struct {
	Cluster  string
	Replicas int32
	// NotAllowed says that the namespace does not allow the cluster.
	NotAllowed bool
	// Why is a sentence.
	Why string
}

// Decision is an outcome and the reasons for it.
type Decision struct {
	Outcome Outcome
	// Trigger is the reason for making the decision.
	Trigger Trigger
	// Placement is the placement that was used, as JSON, or the hash of a long one.
	Placement string
	// AdmittedRequests is the value for the annotation admitted-requests; empty where there are no quotas.
	AdmittedRequests string
	// Pending is the value for the annotation reschedule-pending: the request for a decision from scratch that could not be fulfilled;
	// empty if none is open.
	Pending string
	// Answered is the last request for a decision from scratch, if it is done; empty if it is open.
	Answered string
	// Targets are sorted by name, unless they are the binding's own. They may be shared with its spec and must not be modified. If the
	// outcome is Keep, Unschedulable, OverQuota or Refused, they are the binding's targets without those that it must leave.
	Targets []workv1alpha2.TargetCluster
	// Leave are the targets that are left gracefully, sorted by name. Clusters that the namespace does not allow are left whatever the
	// outcome.
	Leave []Departure
	// Return are the targets whose eviction is taken back, sorted by name, because the old copy is still there.
	Return []string
	// NotPreferred says that other clusters are preferred to the targets: capacity that is freed in one of them requeues the binding.
	NotPreferred bool
	// FailbackReason says why preferred clusters are available, to which the application moves once they have settled; empty if there are
	// none.
	FailbackReason string
	// Affinity is the group in use; empty without clusterAffinities.
	Affinity string
	// Attempts are in the order in which they were made. If any succeeded, it is the last.
	Attempts []Attempt
	// Message says why there are no targets, what was refused, or how many replicas are placed nowhere although there are targets.
	Message string
}
