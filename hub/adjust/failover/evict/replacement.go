package evict

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/evictions"
)

// chosenAgain says whether the scheduler is about to take back an eviction. It is asked only if the copy would
// otherwise be deleted.
func (d *Decision) chosenAgain(in *Input, task *workv1alpha2.GracefulEvictionTask) bool {
	if directly(task) || task.Producer != workv1alpha2.ProducerTaintManager || !in.WouldReturn(task.FromCluster) {
		return false
	}
	d.recheck(in.Now, in.Now.Add(askAgain))
	return true
}

// refused says whether the scheduler cannot place all of the current generation.
func refused(in *Input) bool {
	c := meta.FindStatusCondition(in.Status.Conditions, workv1alpha2.BindingScheduled)
	return c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration >= in.Generation &&
		(c.Reason == workv1alpha2.ReasonUnschedulable || c.Reason == workv1alpha2.ReasonNoClusterFit)
}

// replaced says whether the application is healthy in every target that replaces a copy, according to the scheduler's
// latest decision.
func (d *Decision) replaced(in *Input, task *workv1alpha2.GracefulEvictionTask) bool {
	return placed(in) && !slices.ContainsFunc(replacing(in, task), func(target *workv1alpha2.TargetCluster) bool { return !d.works(in, target) })
}

// reported says whether the status of the targets that replace a copy was reported to this process. A report from
// before its start may predate a long outage, and the copy to be deleted may be the last one that runs.
func (d *Decision) reported(in *Input, task *workv1alpha2.GracefulEvictionTask) bool {
	if in.Began.IsZero() {
		return true
	}
	began := in.Began.Truncate(time.Second) // creation times in the API have this precision
	for _, target := range replacing(in, task) {
		work, c := in.Works[target.Name], in.Clusters[target.Name] // the cluster exists, since the application is healthy in it
		if work.Observed && !work.Created.Before(began) || !c.CreationTimestamp.Time.Before(began) {
			continue
		}
		if known := disruption.KnownFrom(in.Began, in.HeardBy, in.silence(), in.Patience[target.Name]); in.Now.Before(known) {
			d.recheck(in.Now, known)
			return false
		}
	}
	return true
}

// replacing returns the targets that gained replicas from an eviction. A target without a gain is no replacement: if it
// is unhealthy, waiting for it would not help. If it is unknown which targets gained, or none did, it returns all.
func replacing(in *Input, task *workv1alpha2.GracefulEvictionTask) []*workv1alpha2.TargetCluster {
	gained := gainers(in, task)
	var out []*workv1alpha2.TargetCluster
	for i := range in.Spec.Clusters {
		target := &in.Spec.Clusters[i]
		_, found := slices.BinarySearch(gained, target.Name) // both may have thousands
		if found || len(gained) == 0 {
			out = append(out, target)
		}
	}
	return out
}

// gainers returns the sorted names of the targets that are known to have gained from an eviction.
func gainers(in *Input, task *workv1alpha2.GracefulEvictionTask) []string {
	if past := underWay(in, task); past != nil {
		return evictions.Gained(past, in.Spec.Clusters)
	}
	return nil
}

// works says whether the application is healthy in a target with its full share.
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

// grew says whether a cluster has a larger share than before an eviction in progress, so that a report of Healthy may
// be about the smaller share. If the earlier share is unknown, any share of divided replicas may have grown.
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

// unplaceable says whether the scheduler finds no cluster that fits the application at all.
func unplaceable(in *Input) bool {
	c := meta.FindStatusCondition(in.Status.Conditions, workv1alpha2.BindingScheduled)
	return c != nil && c.Reason == workv1alpha2.ReasonNoClusterFit && c.ObservedGeneration >= in.Generation
}
