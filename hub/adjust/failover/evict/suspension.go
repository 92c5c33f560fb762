package evict

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// unsent returns the clusters of a copy's replacements that did not get their share because dispatching to them is
// suspended. If it is unknown which targets are replacements, or none is, it returns none as long as one target has its
// share.
func unsent(in *Input, task *workv1alpha2.GracefulEvictionTask) []string {
	targets := replacing(in, task)
	var out []string
	for _, target := range targets {
		if notSent(in, target) {
			out = append(out, target.Name)
		}
	}
	if len(out) < len(targets) && (!taken(in.Spec) || len(gainers(in, task)) == 0) {
		return nil
	}
	return out
}

// notSent says whether a target lacks its share because dispatching to it is suspended.
func notSent(in *Input, target *workv1alpha2.TargetCluster) bool {
	if !bindings.Suspended(in.Spec.Suspension, target.Name) {
		return false
	}
	item := in.item(target.Name)
	return item == nil || !item.Applied || grew(in, target)
}

// resume remembers since when replacements of a copy are dispatched again, even while the copy's own cluster is silent.
// If dispatching was never suspended, as far as the hub knows, it remembers nothing.
func (d *Decision) resume(in *Input, task *workv1alpha2.GracefulEvictionTask) {
	since, known := in.Memory.Resumed[task.FromCluster]
	switch {
	case len(unsent(in, task)) > 0:
		since = time.Time{}
	case !known:
		return
	case since.IsZero():
		since = in.Now
	}
	if d.Memory.Resumed == nil {
		d.Memory.Resumed = map[string]time.Time{}
	}
	d.Memory.Resumed[task.FromCluster] = since
}

// heldBySuspension says whether a direct eviction must wait because its replacements would not be dispatched. Without
// are the clusters that are being left.
func (d *Decision) heldBySuspension(in *Input, cond *conditionBuilder, task *workv1alpha2.GracefulEvictionTask, without []string) bool {
	if !directly(task) || in.Spec.Suspension == nil || !unreachable(in, without) {
		return false
	}
	cond.suspended(task.Message)
	d.recheck(in.Now, in.Now.Add(askAgain))
	return true
}

// unreachable says whether dispatching is suspended to all clusters that an application would have without some.
func unreachable(in *Input, without []string) bool {
	left := func(t workv1alpha2.TargetCluster) bool { return slices.Contains(without, t.Name) }
	others := slices.DeleteFunc(slices.Clone(in.Spec.Clusters), left)
	whole := ptr.Deref(in.Spec.Suspension.Dispatching, false)
	shut := slices.Clone(without) // those that cannot get any replicas
	if some := in.Spec.Suspension.DispatchingOnClusters; some != nil {
		shut = append(shut, some.ClusterNames...)
	}
	if !bindings.Divided(in.Spec) && len(others) > 0 {
		if slices.ContainsFunc(others, func(t workv1alpha2.TargetCluster) bool { return !notSent(in, &t) }) {
			return false // one other target has its share
		}
		return !taken(in.Spec) || whole || !in.CouldPlaceWithout(shut)
	}
	if !whole && len(shut) == len(without) {
		return false
	}
	// A person evicts even what has no other place: then the suspension is not what leaves it without one.
	return in.CouldPlaceWithout(without) && (whole || !in.CouldPlaceWithout(shut))
}
