package evict

import (
	"math"
	"slices"

	"k8s.io/utils/ptr"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// takeBack says whether a copy that is being left stays after all, and with how many replicas:
// the cause of the task is gone, and nothing has taken the place of the copy. What left because
// of a taint also takes the place back of copies that are not healthy yet.
func (d *Decision) takeBack(in *Input, task *workv1alpha2.GracefulEvictionTask, room int64) (int32, bool) {
	if !wellAgain(in, task) {
		return 0, false
	}
	had := ptr.Deref(task.Replicas, 0)
	if !bindings.Divided(in.Spec) {
		open := !taken(in.Spec) || !placed(in)
		return had, open || d.withdraw(in, task, 1) > 0
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

// withdraw takes up to n replicas from targets that gained them by an eviction and are not
// healthy with them, and says how many these are. What is not divided loses whole clusters.
func (d *Decision) withdraw(in *Input, task *workv1alpha2.GracefulEvictionTask, n int32) int32 {
	if n <= 0 || directly(task) || task.Producer != workv1alpha2.ProducerTaintManager {
		return 0
	}
	past := underWay(in, task)
	if past == nil {
		return 0
	}
	before := map[string]int32{}
	for _, was := range past.Before {
		before[was.Name] = was.Replicas
	}
	var sum int32
	for i := range in.Spec.Clusters {
		target := &in.Spec.Clusters[i]
		less, withdrawn := d.Withdrawn[target.Name]
		gained := target.Replicas - before[target.Name] - less
		if !bindings.Divided(in.Spec) {
			gained = 1
			if _, was := before[target.Name]; was || withdrawn {
				gained = 0
			}
		}
		gained = min(gained, n-sum)
		if gained <= 0 || d.works(in, target) {
			continue
		}
		if d.Withdrawn == nil {
			d.Withdrawn = map[string]int32{}
		}
		sum += gained
		if bindings.Divided(in.Spec) {
			less += gained
		}
		d.Withdrawn[target.Name] = less
	}
	return sum
}

// underWay returns what the binding remembers of an eviction that is not over; nil if that is
// nothing.
func underWay(in *Input, task *workv1alpha2.GracefulEvictionTask) *workv1alpha2.Eviction {
	i := slices.IndexFunc(in.Past, func(e workv1alpha2.Eviction) bool { return e.Ended == nil && e.From == task.FromCluster })
	if i < 0 {
		return nil
	}
	return &in.Past[i]
}
