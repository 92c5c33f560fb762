package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// failback is a move to clusters that the placement prefers to the current ones.
type failback struct {
	attempt Attempt
	targets []workv1alpha2.TargetCluster
	leave   []Departure
	group   string
	// why is a sentence.
	why string
}

// Reasons for a failback.
const (
	whyGroup = "Group %q of clusterAffinities is preferred, and has room."
	whyDrain = "Preferred clusters have room for what overflowed."
)

// planFailback looks for preferred clusters for an application whose current placement needs no change: those of a group of
// clusterAffinities before the one in use, or the proper clusters of a group instead of its overflow clusters. Only whole shares of
// clusters move, so that each old copy can stay until the new ones are healthy; the other targets keep their shares. It returns nil while
// the application is leaving a cluster.
func planFailback(in Input, groups []group, current int) (*failback, error) {
	if len(in.Spec.Clusters) == 0 || underWay(in) || onRequest(in.Spec) {
		return nil, nil
	}
	if in.ReturnToPreferred {
		for i := range current {
			b, err := failbackToGroup(in, groups[i])
			if b != nil || err != nil {
				return b, err
			}
		}
	}
	if in.StayInOverflow || len(groups[current].overflow) == 0 {
		return nil, nil
	}
	return drainOverflow(in, groups[current])
}

// onRequest returns whether an application fails back only on a person's request, because moving it carries state along, or purges the old
// copy directly, so that it would be down for a while.
func onRequest(spec *workv1alpha2.ResourceBindingSpec) bool {
	if spec.Failover == nil || spec.Failover.Cluster == nil {
		return false
	}
	f := spec.Failover.Cluster
	return f.PurgeMode.Canonical() == policyv1alpha1.PurgeDirectly || f.StatePreservation != nil && len(f.StatePreservation.Rules) > 0
}

// failbackToGroup returns the move of an application into a group; nil if not all of it fits. It may be there already, in clusters that two
// groups have in common; then only the group in use changes.
func failbackToGroup(in Input, g group) (*failback, error) {
	q, clusters := queryOf(&in, g), sortedClusters(in.Clusters)
	why := fmt.Sprintf(whyGroup, g.name)
	var leave []Departure
	for _, t := range in.Spec.Clusters {
		if c := clusters.named(t.Name); c == nil || q.Tier(c) < 0 {
			leave = append(leave, Departure{Cluster: t.Name, Replicas: t.Replicas, Why: why})
		}
	}
	b, err := move(in, g, leave)
	if b != nil {
		b.why = why
	}
	return b, err
}

// drainOverflow returns a move of shares from overflow clusters to clusters of preceding tiers; nil if none fits. Shares in the last tier
// move first, and within a tier the smallest first.
func drainOverflow(in Input, g group) (*failback, error) {
	q, clusters := queryOf(&in, g), sortedClusters(in.Clusters)
	tier := func(name string) int {
		if c := clusters.named(name); c != nil {
			return q.Tier(c)
		}
		return 0
	}
	strays := slices.DeleteFunc(slices.Clone(in.Spec.Clusters), func(t workv1alpha2.TargetCluster) bool { return tier(t.Name) <= 0 })
	slices.SortFunc(strays, func(a, b workv1alpha2.TargetCluster) int {
		return cmp.Or(cmp.Compare(tier(b.Name), tier(a.Name)), cmp.Compare(a.Replicas, b.Replicas), strings.Compare(a.Name, b.Name))
	})
	var out *failback
	var leave []Departure
	for _, s := range strays {
		next := append(slices.Clone(leave), Departure{Cluster: s.Name, Replicas: s.Replicas, Why: whyDrain})
		b, err := move(in, g, next)
		if err != nil {
			return nil, err
		}
		if b == nil || slices.ContainsFunc(b.targets, func(t workv1alpha2.TargetCluster) bool {
			return t.Replicas > assigned(in.Spec.Clusters, t.Name) && tier(t.Name) >= tier(s.Name)
		}) {
			continue
		}
		out, leave = b, next
		out.why = whyDrain
	}
	return out, nil
}

// notPreferred returns whether, after a decision, the application could fail back if there were capacity.
func notPreferred(in Input, d Decision) bool {
	if d.Outcome == Refused || len(d.Targets) == 0 || in.Spec.Placement == nil || len(in.Spec.Placement.ClusterAffinities) == 0 || onRequest(in.Spec) {
		return false
	}
	in.Spec = withDefaults(in.Spec)
	groups, current, err := compile(in.Spec, d.Affinity)
	switch {
	case err != nil:
		return false
	case in.ReturnToPreferred && current > 0:
		return true
	case in.StayInOverflow || len(groups[current].overflow) == 0:
		return false
	}
	q, clusters := queryOf(&in, groups[current]), sortedClusters(in.Clusters)
	return slices.ContainsFunc(d.Targets, func(t workv1alpha2.TargetCluster) bool {
		c := clusters.named(t.Name)
		return c != nil && q.Tier(c) > 0
	})
}

// move returns how an application would be placed in a group if it left some clusters; nil if it does not fit, exceeds a quota, or would
// shrink a remaining target before the new copies are healthy.
func move(in Input, g group, leave []Departure) (*failback, error) {
	was := in.Spec
	spec, _ := leaving(was, in.Past, leave)
	in.Spec = spec
	attempt, targets, err := try(in, g, TriggerReplicas)
	if err != nil || attempt.Message != "" || exceeded(in, was, targets) != "" {
		return nil, err
	}
	for _, t := range spec.Clusters {
		if assigned(targets, t.Name) < t.Replicas {
			return nil, nil
		}
	}
	leave = slices.Clone(leave)
	slices.SortFunc(leave, func(a, b Departure) int { return strings.Compare(a.Cluster, b.Cluster) })
	return &failback{attempt: attempt, targets: targets, leave: leave, group: g.name}, nil
}

// left returns the targets that a decision from scratch does not choose again although a group selects them. Those that no group selects
// any more are removed at once instead.
func left(in Input, groups []group, targets []workv1alpha2.TargetCluster) []Departure {
	clusters := sortedClusters(in.Clusters)
	var out []Departure
	for _, t := range in.Spec.Clusters {
		there := func(o workv1alpha2.TargetCluster) bool { return o.Name == t.Name }
		c := clusters.named(t.Name)
		picks := func(g group) bool { return queryOf(&in, g).Tier(c) >= 0 }
		if c != nil && !slices.ContainsFunc(targets, there) && slices.ContainsFunc(groups, picks) {
			out = append(out, Departure{Cluster: t.Name, Replicas: t.Replicas, Why: "A placement from scratch was requested."})
		}
	}
	return out
}

// assigned returns the replicas of a cluster; 0 if it is no target.
func assigned(targets []workv1alpha2.TargetCluster, cluster string) int32 {
	for i := range targets {
		if targets[i].Name == cluster {
			return targets[i].Replicas
		}
	}
	return 0
}
