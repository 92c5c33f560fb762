package evict

import (
	"math"
	"slices"

	"k8s.io/utils/ptr"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/disruption"
)

// takeBack says whether a copy that is being left stays after all, and with how many replicas: the cause of the task is
// gone, and the copy has not been replaced. If it left because of a taint, it also displaces replacements that are not
// ready yet.
func (d *Decision) takeBack(in *Input, task *workv1alpha2.GracefulEvictionTask, room int64) (int32, bool) {
	if !wellAgain(in, task) {
		return 0, false
	}
	had := ptr.Deref(task.Replicas, 0)
	if !bindings.Divided(in.Spec) {
		open := !taken(in.Spec) || !placed(in)
		return had, open || d.withdraw(in, task, 1) > 0
	}
	if d.unsure(in, task) {
		return 0, false // all replicas that do not return now would be lost
	}
	free := min(had, int32(min(max(room, 0), math.MaxInt32)))
	free += d.withdraw(in, task, had-free)
	return free, free > 0 || had == 0
}

// wellAgain says whether the cause of a task is gone.
func wellAgain(in *Input, task *workv1alpha2.GracefulEvictionTask) bool {
	c := in.Clusters[task.FromCluster]
	if !heard(c) || !c.DeletionTimestamp.IsZero() {
		return false
	}
	switch task.Producer {
	case workv1alpha2.ProducerTaintManager:
		return tolerate(c.Spec.Taints, in.Tolerations, in.BySilence).Forever
	case workv1alpha2.ProducerApplicationFailover, workv1alpha2.ProducerClusterApplicationFailover:
		return !placed(in) && health(in, task.FromCluster) == workv1alpha1.Healthy
	case workv1alpha2.ProducerScheduler:
		return Missing(in.Spec) > 0 && refused(in)
	default:
		return false
	}
}

// withdraw takes up to n replicas from targets that gained them by an eviction and do not have them ready, and returns
// how many. Ready replicas are not given up for a copy that may not work. If replicas are not divided, whole targets
// are removed: those with nothing ready, or those that are unhealthy while the copy at the old place is healthy.
func (d *Decision) withdraw(in *Input, task *workv1alpha2.GracefulEvictionTask, n int32) int32 {
	divided := bindings.Divided(in.Spec)
	var sum int32
	for _, target := range gained(in, task) {
		if sum >= n || d.works(in, target.TargetCluster) {
			continue
		}
		less, withdrawn := d.Withdrawn[target.Name]
		ready, known := d.ready(in, target.TargetCluster)
		take := min(target.gain-less, target.Replicas-less-ready, n-sum)
		if !divided {
			take = 1
			if withdrawn || !known || ready > 0 && !d.healthyAgain(in, task) {
				take = 0
			}
		}
		if take <= 0 {
			continue
		}
		if d.Withdrawn == nil {
			d.Withdrawn = map[string]int32{}
		}
		sum += take
		if divided {
			less += take
		}
		d.Withdrawn[target.Name] = less
	}
	return sum
}

// gainer is a target that has more than before an eviction, and by how many replicas if these are divided.
type gainer struct {
	*workv1alpha2.TargetCluster
	gain int32
}

// gained returns the targets that a returning copy may displace: those that gained from an eviction in progress that
// was caused by a taint. There are none if it is unknown what was before.
func gained(in *Input, task *workv1alpha2.GracefulEvictionTask) []gainer {
	past := underWay(in, task)
	if past == nil || past.Before == nil || directly(task) || task.Producer != workv1alpha2.ProducerTaintManager {
		return nil
	}
	before := map[string]int32{}
	for _, was := range past.Before {
		before[was.Name] = was.Replicas
	}
	var out []gainer
	for i := range in.Spec.Clusters {
		target := &in.Spec.Clusters[i]
		had, was := before[target.Name]
		if gain := target.Replicas - had; gain > 0 && bindings.Divided(in.Spec) || !was && !bindings.Divided(in.Spec) {
			out = append(out, gainer{target, gain})
		}
	}
	return out
}

// ready returns how many ready replicas a target has, none if it is silent, and whether that is known. It is unknown if
// its line was just lost, if it has not reported since it came back, if the binding has no room for its status, or if
// it is healthy but counts no replicas. Then it is decided again later.
func (d *Decision) ready(in *Input, target *workv1alpha2.TargetCluster) (n int32, known bool) {
	c := in.Clusters[target.Name]
	if !heard(c) {
		if c == nil {
			return 0, true
		}
		counts := disruption.ActFrom(c, in.silence(), in.Began, in.HeardBy)
		if in.Now.Before(counts) {
			d.recheck(in.Now, counts)
			return 0, false
		}
		return 0, true
	}
	item := in.item(target.Name)
	n, counted := bindings.Ready(item)
	return n, (item == nil || item.StaleSince == nil && !bindings.IsTooLarge(item)) && (counted || health(in, target.Name) != workv1alpha1.Healthy)
}

// unsure says whether it is unknown of a target that gained from an eviction whether it works.
func (d *Decision) unsure(in *Input, task *workv1alpha2.GracefulEvictionTask) bool {
	for _, target := range gained(in, task) {
		if _, known := d.ready(in, target.TargetCluster); !known && !d.works(in, target.TargetCluster) {
			return true
		}
	}
	return false
}

// healthyAgain says whether a copy is healthy in a cluster that is back, and the cluster has been back for long enough
// to believe its reports.
func (d *Decision) healthyAgain(in *Input, task *workv1alpha2.GracefulEvictionTask) bool {
	if health(in, task.FromCluster) != workv1alpha1.Healthy {
		return false
	}
	if at := in.HeardSince[task.FromCluster].Add(settled); in.Now.Before(at) {
		d.recheck(in.Now, at)
		return false
	}
	return true
}

// underWay returns the record of an eviction in progress; nil if there is none.
func underWay(in *Input, task *workv1alpha2.GracefulEvictionTask) *workv1alpha2.Eviction {
	i := slices.IndexFunc(in.Past, func(e workv1alpha2.Eviction) bool { return e.Ended == nil && e.From == task.FromCluster })
	if i < 0 {
		return nil
	}
	return &in.Past[i]
}
