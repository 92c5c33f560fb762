package evict

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// chosenAgain says whether the scheduler is about to take back an eviction. It is asked only
// when the copy would go otherwise.
func (d *Decision) chosenAgain(in *Input, task *workv1alpha2.GracefulEvictionTask) bool {
	if directly(task) || task.Producer != workv1alpha2.ProducerTaintManager || !in.WouldReturn(task.FromCluster) {
		return false
	}
	d.recheck(in.Now, in.Now.Add(askAgain))
	return true
}

// refused says that the scheduler does not find a place for all of the application as it is.
func refused(in *Input) bool {
	c := meta.FindStatusCondition(in.Status.Conditions, workv1alpha2.BindingScheduled)
	return c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration >= in.Generation &&
		(c.Reason == workv1alpha2.ReasonUnschedulable || c.Reason == workv1alpha2.ReasonNoClusterFit)
}

// replaced says whether the application is healthy in every target that takes the place of a
// copy, as the scheduler chose them last.
func (d *Decision) replaced(in *Input, task *workv1alpha2.GracefulEvictionTask) bool {
	return placed(in) && !slices.ContainsFunc(replacing(in, task), func(target *workv1alpha2.TargetCluster) bool { return !d.works(in, target) })
}

// replacing returns the targets that gained from an eviction. One that has no more than before
// replaces nothing: if it is unhealthy, another copy would not help it. If it is not known which
// gained, or none did, it is all of them.
func replacing(in *Input, task *workv1alpha2.GracefulEvictionTask) []*workv1alpha2.TargetCluster {
	gained := gainers(in, task)
	var out []*workv1alpha2.TargetCluster
	for i := range in.Spec.Clusters {
		target := &in.Spec.Clusters[i]
		_, found := slices.BinarySearch(gained, target.Name) // both may be thousands
		if found || len(gained) == 0 {
			out = append(out, target)
		}
	}
	return out
}

// gainers names the targets that are known to have gained from an eviction, sorted.
func gainers(in *Input, task *workv1alpha2.GracefulEvictionTask) []string {
	if past := underWay(in, task); past != nil {
		return past.Gained(in.Spec.Clusters)
	}
	return nil
}

// works says whether the application is healthy in a target with all of its share.
func (d *Decision) works(in *Input, target *workv1alpha2.TargetCluster) bool {
	if health(in, target.Name) != workv1alpha1.Healthy {
		return false
	}
	ready, counted := bindings.Ready(in.item(target.Name))
	if counted && ready >= target.Replicas || !counted && !grew(in, target) {
		return true
	}
	if !in.Works[target.Name].Observed || in.Status.LastScheduledTime == nil {
		return false
	}
	if at := in.Status.LastScheduledTime.Add(settled); in.Now.Before(at) {
		d.recheck(in.Now, at)
		return false
	}
	return true
}

// grew says whether a cluster has more of the application than before an eviction that is
// under way. That it is healthy there may be said of the smaller share. If it is not known what
// was before one, each share of what is divided may have grown.
func grew(in *Input, target *workv1alpha2.TargetCluster) bool {
	if in.least == nil {
		in.least = map[string]int32{}
		for i := range in.Past {
			e := &in.Past[i]
			if e.Ended != nil {
				continue
			}
			in.unknown = in.unknown || e.Before == nil
			for j := range e.Before {
				was := &e.Before[j]
				if least, ok := in.least[was.Name]; !ok || was.Replicas < least {
					in.least[was.Name] = was.Replicas
				}
			}
		}
	}
	least, ok := in.least[target.Name]
	return ok && least < target.Replicas || in.unknown && bindings.Divided(in.Spec)
}

// unplaceable says that the scheduler finds no cluster that could ever take the
// application as things are.
func unplaceable(in *Input) bool {
	c := meta.FindStatusCondition(in.Status.Conditions, workv1alpha2.BindingScheduled)
	return c != nil && c.Reason == workv1alpha2.ReasonNoClusterFit && c.ObservedGeneration >= in.Generation
}
