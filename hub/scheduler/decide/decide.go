package decide

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// Decide places an application.
func Decide(in Input) Decision {
	d := Decision{Targets: in.Spec.Clusters, Affinity: in.ObservedAffinity}
	refuse := func(format string, args ...any) Decision {
		d.Outcome, d.Message = Refused, fmt.Sprintf(format, args...)
		return d
	}
	if message := contradiction(in.Spec); message != "" {
		return refuse("%s", message)
	}
	placement, err := json.Marshal(in.Spec.Placement)
	if err != nil {
		return refuse("The placement cannot be encoded: %v.", err)
	}
	d.Placement = string(placement)
	in.Clusters = sorted(in.Clusters)
	groups, current, err := compile(in.Spec, in.ObservedAffinity)
	if err != nil {
		return refuse("The placement cannot be used: %v. Correct it in the policy.", err)
	}
	d.Trigger = trigger(in, d.Placement, groups[current])
	from := current
	if d.Trigger == TriggerRequested {
		from = 0
	}
	if in.ReturnToPreferred && from > 0 {
		from = 0
	}
	for i := from; i < len(groups); i++ {
		if i >= current && d.Trigger == TriggerNone {
			return d
		}
		attempt, targets, err := try(in, groups[i], d.Trigger)
		if err != nil {
			return refuse("The placement cannot be used: %v. Correct it in the policy.", err)
		}
		d.Attempts = append(d.Attempts, attempt)
		if attempt.Message == "" {
			if i < current && (d.Trigger == TriggerNone || d.Trigger == TriggerFollows) {
				d.Trigger = TriggerPreferred
			}
			d.Outcome, d.Targets, d.Affinity = Scheduled, targets, groups[i].name
			return d
		}
	}
	// The first group is the preferred one: why it does not do is what matters most.
	d.Message = d.Attempts[0].Message
	if !d.Attempts[0].NoFit {
		d.Outcome = Unschedulable
		return d
	}
	d.Outcome, d.Targets = NoClusterFit, nil
	return d
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
