package decide

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// maxLeftOut is how many clusters a message names that the namespace may not use.
const maxLeftOut = 5

// NotAllowed are the clusters that an application has to leave because its namespace may not use them, by name: its
// targets, and those that it leaves already for a reason for which the copy there might stay. None if it cannot be said
// which it may use.
func NotAllowed(in Input) []Departure {
	if in.Allowance == nil || in.Allowance.Unusable(in.Clusters) != "" {
		return nil
	}
	clusters := sortedClusters(in.Memo.sort(in.Clusters))
	var out []Departure
	add := func(cluster string, replicas int32) {
		if c := clusters.named(cluster); c != nil && !in.Allowance.Allows(c) {
			out = append(out, Departure{
				Cluster: cluster, Replicas: replicas, NotAllowed: true,
				Why: fmt.Sprintf("Cluster %s may not be used any more: %s.", cluster, in.Allowance.Why()),
			})
		}
	}
	for _, t := range in.Spec.Clusters {
		add(t.Name, t.Replicas)
	}
	for i := range in.Spec.GracefulEvictionTasks {
		task := &in.Spec.GracefulEvictionTasks[i]
		if task.Producer != workv1alpha2.ProducerNamespaceClusters && task.PurgeMode.Canonical() != policyv1alpha1.PurgeDirectly {
			add(task.FromCluster, ptr.Deref(task.Replicas, 0))
		}
	}
	slices.SortFunc(out, func(a, b Departure) int { return strings.Compare(a.Cluster, b.Cluster) })
	return out
}

// leaving returns a spec, and what is remembered of evictions, as if clusters were being left; both as they are if there are
// none. What runs in these clusters counts until it is replaced.
func leaving(spec *workv1alpha2.ResourceBindingSpec, past []workv1alpha2.Eviction, left []Departure) (*workv1alpha2.ResourceBindingSpec, []workv1alpha2.Eviction) {
	if len(left) == 0 {
		return spec, past
	}
	out := *spec
	leaves := func(cluster string) bool {
		return slices.ContainsFunc(left, func(l Departure) bool { return l.Cluster == cluster })
	}
	out.Clusters = slices.DeleteFunc(slices.Clone(spec.Clusters), func(t workv1alpha2.TargetCluster) bool { return leaves(t.Name) })
	out.GracefulEvictionTasks = slices.DeleteFunc(slices.Clone(spec.GracefulEvictionTasks), func(t workv1alpha2.GracefulEvictionTask) bool { return leaves(t.FromCluster) })
	past = slices.Clone(past)
	before := workv1alpha2.TargetsBefore(spec.Clusters)
	for _, l := range left {
		out.GracefulEvictionTasks = append(out.GracefulEvictionTasks, workv1alpha2.GracefulEvictionTask{FromCluster: l.Cluster, Replicas: new(l.Replicas)})
		if !slices.ContainsFunc(past, func(e workv1alpha2.Eviction) bool { return e.Ended == nil && e.From == l.Cluster }) {
			past = append(past, workv1alpha2.Eviction{From: l.Cluster, Before: before})
		}
	}
	return &out, past
}

// leftOut says in a sentence which clusters the placement picks and the namespace may not use; empty if none.
func leftOut(in Input, d Decision) string {
	if in.Allowance == nil || d.Outcome == Refused {
		return ""
	}
	spec := withDefaults(in.Spec)
	groups, current, err := compile(spec, d.Affinity)
	if err != nil {
		return ""
	}
	in.Spec = spec
	q := queryOf(&in, groups[current])
	var names []string
	for _, c := range in.Clusters {
		if in.Allowance.Allows(c) || q.Tier(c) < 0 {
			continue
		}
		if len(names) == maxLeftOut {
			// How many more is not said: each cluster that joins would change the message.
			names = append(names, "and others")
			break
		}
		names = append(names, c.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Left out: %s; %s.", strings.Join(names, ", "), in.Allowance.Why())
}
