package explain

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/rollouts"
)

// Report is the whole explanation of one template.
type Report struct {
	// Template is the object that its author wrote.
	Template applications.Template `json:"template"`
	// State are sentences about the template that matter before any policy does.
	State []string `json:"state,omitempty"`
	// Policies that select it, the one that has it first.
	Policies []Policy `json:"policies"`
	// Scheduled is the scheduler's condition of the binding; nil if there is none.
	Scheduled *Scheduled `json:"scheduled,omitempty"`
	// Attempts are the groups of clusters that were tried, in order. There is one
	// without a name if the policy has no groups.
	Attempts []Attempt `json:"attempts,omitempty"`
	// Now says what a decision would choose that is made now, if that is not what is
	// assigned.
	Now string `json:"now,omitempty"`
	// Better says why there is a better place for it, and when it goes there; empty if there
	// is none.
	Better string `json:"better,omitempty"`
	// Moves are the clusters that it left, the newest first.
	Moves []Move `json:"moves,omitempty"`
	// Rollout is how its changes reach the clusters in waves; nil if they go to all at once.
	Rollout *rollouts.Rollout `json:"rollout,omitempty"`
	// Members are the clusters that have it, or should.
	Members []Member `json:"members,omitempty"`
	// Advice tells people what to do next; empty if all is well.
	Advice string `json:"advice,omitempty"`
}

// Policy is a policy that selects the template.
type Policy struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Priority is the policy's own priority, Selects how precisely it names the template.
	Priority int32  `json:"priority"`
	Selects  string `json:"selects"`
	// Has says that it has the template, Why is the reason for or against.
	Has bool   `json:"has"`
	Why string `json:"why"`
}

// Scheduled is the condition of this name, and when the last decision was made.
type Scheduled struct {
	Status  string       `json:"status"`
	Reason  string       `json:"reason"`
	Message string       `json:"message"`
	Last    *metav1.Time `json:"lastScheduledTime,omitempty"`
	Group   string       `json:"affinityGroup,omitempty"`
}

// Attempt is the try of one group of clusters.
type Attempt struct {
	Group string `json:"affinityGroup,omitempty"`
	// Failed says why the group does not do; empty if it does.
	Failed   string    `json:"failed,omitempty"`
	Clusters []Verdict `json:"clusters"`
}

// Verdict is the decision about one cluster.
type Verdict struct {
	Cluster string `json:"cluster"`
	// Chosen, and with how many replicas; Assigned is what it has at present, if it is
	// a target.
	Chosen   bool   `json:"chosen"`
	Replicas int32  `json:"replicas,omitempty"`
	Assigned *int32 `json:"assigned,omitempty"`
	// Filter that refused it, and why.
	Filter string `json:"filter,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Score by plugin.
	Scores map[string]int64 `json:"scores,omitempty"`
	Score  int64            `json:"score"`
	// Fits is how many more replicas fit and CapacityLimit what limits that; nil if it was
	// not needed.
	Fits          *int32 `json:"fits,omitempty"`
	CapacityLimit string `json:"capacityLimit,omitempty"`
	// Limit says why the cluster's share is not larger.
	Limit string `json:"limit,omitempty"`
}

// Move says that the application left a cluster.
type Move struct {
	From string `json:"from"`
	// To are the clusters that took its place, so far.
	To []string    `json:"to,omitempty"`
	At metav1.Time `json:"at"`
	// Because is a sentence.
	Because string `json:"because"`
	// Waiting says what it waits for; empty if it is over. Then Ended is when, and How one
	// word for the way.
	Waiting string       `json:"waiting,omitempty"`
	Ended   *metav1.Time `json:"ended,omitempty"`
	How     string       `json:"how,omitempty"`
}

// Member is the state of the object in one cluster.
type Member struct {
	Cluster string `json:"cluster"`
	// Ready is the status of the cluster's condition.
	Ready string `json:"ready"`
	// Work carries the object there; empty if there is none yet.
	Work string `json:"work,omitempty"`
	// Applied is True, False, Unknown or empty, and Message why.
	Applied string `json:"applied,omitempty"`
	Message string `json:"message,omitempty"`
	Health  string `json:"health,omitempty"`
	// PodReasons are why pods are not ready there, if it is not healthy.
	PodReasons []workv1alpha1.PodReason `json:"podReasons,omitempty"`
	// Rollout is the revision that it has, the one that it is to have, and why; nil if the changes
	// go to all clusters at once.
	Rollout *rollouts.Cluster `json:"rollout,omitempty"`
	// Suspended says that nothing is sent there for now.
	Suspended bool `json:"suspended,omitempty"`
	// Reported is since when Applied is what it is.
	Reported *metav1.Time `json:"reported,omitempty"`
	// Overrides are the policies that made a difference there.
	Overrides []string `json:"overrides,omitempty"`
	// WithoutEffect are clauses that say which overriders of policies about that cluster found nothing in the
	// object that they could change.
	WithoutEffect []string `json:"overridesWithoutEffect,omitempty"`
}
