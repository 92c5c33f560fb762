package decide

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/evictions"
)

// maxLeftOut is how many clusters that the namespace does not allow a message names.
const maxLeftOut = 5

// NotAllowed returns the clusters that an application must leave because its namespace does not allow them, sorted by name: its targets,
// and those that it is already leaving for another reason, unless they are purged directly. It returns none if the allowed clusters
// cannot be determined.
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

// leaving returns a spec, and a history of evictions, in which the application is being evicted from some clusters; the originals if there
// are none. The copies in these clusters count until they are replaced.
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
	before := evictions.TargetsBefore(spec.Clusters)
	for _, l := range left {
		out.GracefulEvictionTasks = append(out.GracefulEvictionTasks, workv1alpha2.GracefulEvictionTask{FromCluster: l.Cluster, Replicas: new(l.Replicas)})
		if !slices.ContainsFunc(past, func(e workv1alpha2.Eviction) bool { return e.Ended == nil && e.From == l.Cluster }) {
			past = append(past, workv1alpha2.Eviction{From: l.Cluster, Before: before})
		}
	}
	return &out, past
}

// leftOut returns a sentence that names the clusters which the placement selects and the namespace does not allow; empty if there are none.
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
			// Do not count them: the message would change with each cluster that joins.
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
