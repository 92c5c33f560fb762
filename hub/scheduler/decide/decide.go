package decide

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/scheduler/assign"
	"fairlead.dev/hub/scheduler/filter"
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
	// Clusters are all that there are, in any order.
	Clusters []*clusterv1alpha1.Cluster
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
	// Refused : the placement asks for something that this scheduler does not know
	// or cannot read; the targets stay until somebody mends it.
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
	// TriggerTargetGone : a target is being removed, or is no more.
	TriggerTargetGone Trigger = "TargetGone"
)

// Verdict is what was decided about one cluster.
type Verdict struct {
	// Cluster is its name.
	Cluster string
	// Filter that kept it out; empty if none did.
	Filter string
	// Reason of the filter.
	Reason string
	// Target says whether it is one, and Replicas what it gets.
	Target   bool
	Replicas int32
}

// Attempt is the try of one group of clusters.
type Attempt struct {
	// Affinity is the name of the group; empty without clusterAffinities.
	Affinity string
	// Verdicts about all clusters, by name.
	Verdicts []Verdict
	// Message says why the group does not do; empty if it does.
	Message string
}

// Decision is the outcome and the reasons for it.
type Decision struct {
	Outcome Outcome
	// Trigger is what called for it.
	Trigger Trigger
	// Placement is the placement that was used, as JSON.
	Placement string
	// Targets by name. Of Keep and Refused, those that the binding has.
	Targets []workv1alpha2.TargetCluster
	// Affinity is the group in use; empty without clusterAffinities.
	Affinity string
	// Attempts in the order in which they were made. The last one is that which
	// succeeded, if any did.
	Attempts []Attempt
	// Message says why there are no targets, or what was refused.
	Message string
}

// Decide places an application.
func Decide(in Input) Decision {
	d := Decision{Targets: in.Spec.Clusters, Affinity: in.ObservedAffinity}
	if message := unsupported(in.Spec); message != "" {
		d.Outcome, d.Message = Refused, message
		return d
	}
	placement, err := json.Marshal(in.Spec.Placement)
	if err != nil {
		d.Outcome, d.Message = Refused, fmt.Sprintf("The placement cannot be encoded: %v.", err)
		return d
	}
	d.Placement = string(placement)
	d.Trigger = trigger(in, d.Placement)
	if d.Trigger == TriggerNone {
		return d
	}
	clusters := sorted(in.Clusters)
	for _, g := range groups(in, d.Trigger) {
		attempt, targets, err := try(in.Spec, g, clusters)
		if err != nil {
			d.Outcome, d.Message = Refused, fmt.Sprintf("The placement cannot be used: %v. Correct it in the policy.", err)
			return d
		}
		d.Attempts = append(d.Attempts, attempt)
		if attempt.Message == "" {
			d.Outcome, d.Targets, d.Affinity = Scheduled, targets, g.name
			return d
		}
	}
	// The first group is the preferred one: why it does not do is what matters most.
	d.Outcome, d.Targets, d.Message = NoClusterFit, nil, d.Attempts[0].Message
	return d
}

// group is a set of clusters to try.
type group struct {
	name     string
	path     string
	affinity *policyv1alpha1.ClusterAffinity
}

// groups returns what to try, in order: from the group in use onwards, never back to
// one that is preferred, unless a decision from scratch was asked for.
func groups(in Input, t Trigger) []group {
	terms := in.Spec.Placement.ClusterAffinities
	if len(terms) == 0 {
		return []group{{path: "clusterAffinity", affinity: in.Spec.Placement.ClusterAffinity}}
	}
	out := make([]group, len(terms))
	from := 0
	for i := range terms {
		out[i] = group{name: terms[i].AffinityName, path: fmt.Sprintf("clusterAffinities[%d]", i), affinity: &terms[i].ClusterAffinity}
		if terms[i].AffinityName == in.ObservedAffinity {
			from = i
		}
	}
	if t == TriggerRequested {
		from = 0
	}
	return out[from:]
}

// try tries one group. The error says what of the placement cannot be read.
func try(spec *workv1alpha2.ResourceBindingSpec, g group, clusters []*clusterv1alpha1.Cluster) (Attempt, []workv1alpha2.TargetCluster, error) {
	attempt := Attempt{Affinity: g.name, Verdicts: make([]Verdict, len(clusters))}
	matcher, err := selector.CompileCluster(g.affinity)
	if err != nil {
		return attempt, nil, fmt.Errorf("%s: %w", g.path, err)
	}
	query, filters := filter.NewQuery(spec, matcher), filter.All()
	candidates := make([]*clusterv1alpha1.Cluster, 0, len(clusters))
	for i, c := range clusters {
		attempt.Verdicts[i] = verdict(query, filters, c)
		if attempt.Verdicts[i].Filter == "" {
			candidates = append(candidates, c)
		}
	}
	if len(candidates) == 0 {
		attempt.Message = fitError(attempt.Verdicts)
		return attempt, nil, nil
	}
	targets, err := assign.Replicas(spec, candidates)
	if err != nil {
		return attempt, nil, fmt.Errorf("replicaScheduling.weightPreference: %w", err)
	}
	// Both are sorted by name.
	i := 0
	for _, t := range targets {
		for attempt.Verdicts[i].Cluster != t.Name {
			i++
		}
		attempt.Verdicts[i].Target, attempt.Verdicts[i].Replicas = true, t.Replicas
	}
	return attempt, targets, nil
}

func verdict(q *filter.Query, filters []filter.Filter, c *clusterv1alpha1.Cluster) Verdict {
	for _, f := range filters {
		if reason := f.Refuse(q, c); reason != "" {
			return Verdict{Cluster: c.Name, Filter: f.Name, Reason: reason}
		}
	}
	return Verdict{Cluster: c.Name}
}

// fitError counts the reasons.
func fitError(verdicts []Verdict) string {
	if len(verdicts) == 0 {
		return "0/0 clusters are available: no cluster exists."
	}
	counts := map[string]int{}
	for i := range verdicts {
		counts[verdicts[i].Reason]++
	}
	parts := make([]string, 0, len(counts))
	for reason, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(parts)
	return fmt.Sprintf("0/%d clusters are available: %s.", len(verdicts), strings.Join(parts, ", "))
}

// sorted returns the clusters by name, and the slice itself if it is sorted.
func sorted(clusters []*clusterv1alpha1.Cluster) []*clusterv1alpha1.Cluster {
	byName := func(a, b *clusterv1alpha1.Cluster) int { return strings.Compare(a.Name, b.Name) }
	if slices.IsSortedFunc(clusters, byName) {
		return clusters
	}
	return slices.SortedFunc(slices.Values(clusters), byName)
}
