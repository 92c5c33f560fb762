package explain

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/rollouts"
)

// Report is the complete explanation of one template.
type Report struct {
	// Template is the template.
	Template applications.Template `json:"template"`
	// State are sentences about the template that matter before any policy.
	State []string `json:"state,omitempty"`
	// Stays is a clause that says why no policy can propagate it; empty if one can.
	Stays string `json:"staysOnHub,omitempty"`
	// StaysWithNamespace says that the same applies to everything in its namespace.
	StaysWithNamespace bool `json:"-"`
	// Policies are the policies that select it, the one that applies first.
	Policies []Policy `json:"policies"`
	// NearMisses are policies that do not select it but may be meant to, the nearest first.
	NearMisses []NearMiss `json:"nearMisses,omitempty"`
	// NotApplied is a sentence that says why the policy that should apply is not applied, and what to do; empty if
	// nothing is wrong.
	NotApplied string `json:"notApplied,omitempty"`
	// Scheduled is the binding's condition Scheduled; nil if there is none.
	Scheduled *Scheduled `json:"scheduled,omitempty"`
	// Attempts are the groups of clusters that the scheduler tried, in order. If the policy has no groups, there is one
	// without a name.
	Attempts []Attempt `json:"attempts,omitempty"`
	// Now says what the scheduler would choose now, if that differs from the present targets.
	Now string `json:"now,omitempty"`
	// Better says why another placement is preferred, and when the application moves there; empty if there is none.
	Better string `json:"better,omitempty"`
	// Moves are the evictions from clusters, the newest first.
	Moves []Move `json:"moves,omitempty"`
	// Rollout is the staged rollout; nil if changes go to all clusters at once.
	Rollout *rollouts.Rollout `json:"rollout,omitempty"`
	// Members are the clusters that have it, or should.
	Members []Member `json:"members,omitempty"`
	// Advice says what to do next; empty if all is well.
	Advice string `json:"advice,omitempty"`
}

// Policy is a policy that selects the template.
type Policy struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Priority is the policy's priority, and Selects says how precisely it selects the template.
	Priority int32  `json:"priority"`
	Selects  string `json:"selects"`
	// Has says that the policy applies to the template, and Why is the reason for or against.
	Has bool   `json:"has"`
	Why string `json:"why"`
}

// Scheduled is the condition Scheduled, and the time of the last decision.
type Scheduled struct {
	Status  string       `json:"status"`
	Reason  string       `json:"reason"`
	Message string       `json:"message"`
	Last    *metav1.Time `json:"lastScheduledTime,omitempty"`
	Group   string       `json:"affinityGroup,omitempty"`
}

// Attempt is the decision about one group of clusters.
type Attempt struct {
	Group string `json:"affinityGroup,omitempty"`
	// Failed says why the group is not used; empty if it is.
	Failed   string    `json:"failed,omitempty"`
	Clusters []Verdict `json:"clusters"`
}

// Verdict is the decision about one cluster.
type Verdict struct {
	Cluster string `json:"cluster"`
	// Chosen says whether the cluster is chosen, and Replicas with how many; Assigned is what it has now, if it is a
	// target.
	Chosen   bool   `json:"chosen"`
	Replicas int32  `json:"replicas,omitempty"`
	Assigned *int32 `json:"assigned,omitempty"`
	// Filter is the filter that rejected it, and Reason why.
	Filter string `json:"filter,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Scores are the scores by plugin, and Score is their sum.
	Scores map[string]int64 `json:"scores,omitempty"`
	Score  int64            `json:"score"`
	// Fits is how many more replicas fit, and CapacityLimit what limits them; nil if it was not computed.
	Fits          *int32 `json:"fits,omitempty"`
	CapacityLimit string `json:"capacityLimit,omitempty"`
	// CapacityUnknown is a sentence that says why the free capacity is unknown; empty if it is known, or not needed.
	CapacityUnknown string `json:"capacityUnknown,omitempty"`
	// Limit says why the cluster's share is not larger.
	Limit string `json:"limit,omitempty"`
}

// Move is an eviction from a cluster.
type Move struct {
	From string `json:"from"`
	// To are the clusters with the replacements so far.
	To []string    `json:"to,omitempty"`
	At metav1.Time `json:"at"`
	// Because is the reason in a sentence.
	Because string `json:"because"`
	// Waiting says what the eviction waits for; empty if it has ended. Ended is when it ended, and How one word for
	// how.
	Waiting string       `json:"waiting,omitempty"`
	Ended   *metav1.Time `json:"ended,omitempty"`
	How     string       `json:"how,omitempty"`
}

// Member is the state in one cluster.
type Member struct {
	Cluster string `json:"cluster"`
	// Ready is the status of the Cluster's condition Ready.
	Ready string `json:"ready"`
	// Work is the name of the Work; empty if there is none yet.
	Work string `json:"work,omitempty"`
	// Applied is True, False, Unknown or empty, and Message the reason.
	Applied string `json:"applied,omitempty"`
	Message string `json:"message,omitempty"`
	Health  string `json:"health,omitempty"`
	// PodReasons are why pods there are not ready, if it is not healthy.
	PodReasons []workv1alpha1.PodReason `json:"podReasons,omitempty"`
	// Rollout is the present revision, the desired one, and why they differ; nil if changes go to all clusters at once.
	Rollout *rollouts.Cluster `json:"rollout,omitempty"`
	// Suspended says that dispatching to the cluster is suspended.
	Suspended bool `json:"suspended,omitempty"`
	// Reported is since when Applied is what it is.
	Reported *metav1.Time `json:"reported,omitempty"`
	// Overrides are the override policies that changed the manifest.
	Overrides []string `json:"overrides,omitempty"`
	// WithoutEffect are clauses about overriders for this cluster that changed nothing.
	WithoutEffect []string `json:"overridesWithoutEffect,omitempty"`
}
