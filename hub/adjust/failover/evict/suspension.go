package evict

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// unsent returns the clusters that are to take the place of a copy and were not sent it, because dispatching to them is
// suspended. If it is not known which clusters take the place, or none does, it is none as long as one of them has its share.
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

// resume remembers since when what takes the place of a copy is sent again, also while the copy's own cluster is not heard from. Nothing
// is remembered if that was never suspended, as far as the hub knows.
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

// heldBySuspension says whether a copy that is to go before others are made stays, because nothing would be sent to the
// clusters that would have those. Without are the clusters that are left.
func (d *Decision) heldBySuspension(in *Input, cond *conditionBuilder, task *workv1alpha2.GracefulEvictionTask, without []string) bool {
	if !directly(task) || in.Spec.Suspension == nil || !unreachable(in, without) {
		return false
	}
	cond.suspended(task.Message)
	d.recheck(in.Now, in.Now.Add(askAgain))
	return true
}

// unreachable says whether dispatching is suspended to all clusters that an application would have if it left some.
func unreachable(in *Input, without []string) bool {
	left := func(t workv1alpha2.TargetCluster) bool { return slices.Contains(without, t.Name) }
	others := slices.DeleteFunc(slices.Clone(in.Spec.Clusters), left)
	whole := ptr.Deref(in.Spec.Suspension.Dispatching, false)
	shut := slices.Clone(without) // those that can take nothing
	if some := in.Spec.Suspension.DispatchingOnClusters; some != nil {
		shut = append(shut, some.ClusterNames...)
	}
	if !bindings.Divided(in.Spec) && len(others) > 0 {
		if slices.ContainsFunc(others, func(t workv1alpha2.TargetCluster) bool { return !notSent(in, &t) }) {
			return false // one has it
		}
		return !taken(in.Spec) || whole || !in.CouldPlaceWithout(shut)
	}
	if !whole && len(shut) == len(without) {
		return false
	}
	// A person drives out also what has no other place: that it has none is not for want of dispatching.
	return in.CouldPlaceWithout(without) && (whole || !in.CouldPlaceWithout(shut))
}
