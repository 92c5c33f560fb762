package explain

import (
	"fmt"
	"slices"
	"strings"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/decide"
)

// Attempts describes a decision, together with the present targets.
func Attempts(d decide.Decision, assigned []workv1alpha2.TargetCluster) []Attempt {
	have := map[string]int32{}
	for _, t := range assigned {
		have[t.Name] = t.Replicas
	}
	out := make([]Attempt, 0, len(d.Attempts))
	for _, a := range d.Attempts {
		attempt := Attempt{Group: a.Affinity, Failed: a.Message, Clusters: make([]Verdict, 0, len(a.Verdicts))}
		for i := range a.Verdicts {
			attempt.Clusters = append(attempt.Clusters, verdict(&a.Verdicts[i], have))
		}
		out = append(out, attempt)
	}
	return out
}

func verdict(v *decide.Verdict, have map[string]int32) Verdict {
	out := Verdict{
		Cluster: v.Cluster, Chosen: v.Target, Replicas: v.Replicas, Filter: v.Filter, Reason: v.Reason, Score: v.Score, Limit: v.Limit,
	}
	if v.Detail != "" {
		out.Reason = v.Detail
	}
	if n, ok := have[v.Cluster]; ok {
		out.Assigned = &n
	}
	if len(v.Scores) > 0 {
		out.Scores = map[string]int64{}
		for _, s := range v.Scores {
			out.Scores[s.Plugin] = s.Value
		}
	}
	if v.Estimated {
		out.Fits, out.CapacityLimit = &v.Capacity.Replicas, v.Capacity.Limit
	}
	return out
}

// ChangeSentence says how a decision differs from the present targets; empty if it does not.
func ChangeSentence(d decide.Decision, assigned []workv1alpha2.TargetCluster) string {
	if d.Outcome != decide.Scheduled {
		return ""
	}
	want, have := Targets(d.Targets), Targets(assigned)
	if want == have {
		return ""
	}
	return fmt.Sprintf("A decision made now would choose %s; assigned is %s.", want, have)
}

// FailbackSentence says why another placement is preferred over the decided one, and when the application moves there;
// empty if there is none.
func FailbackSentence(d decide.Decision) string {
	if d.FailbackReason == "" {
		return ""
	}
	return d.FailbackReason + " It moves there when there has been room for a while, and leaves its current clusters once it is healthy there."
}

// Targets formats targets for people.
func Targets(targets []workv1alpha2.TargetCluster) string {
	if len(targets) == 0 {
		return "no cluster"
	}
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.Name
		if t.Replicas > 0 {
			names[i] = fmt.Sprintf("%s (%d)", t.Name, t.Replicas)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
