package evict

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// settled is how long a report of Healthy must last to count although it has fewer replicas than were assigned: an
// override or an autoscaler may want fewer there.
const settled = 30 * time.Second

// assess decides which tasks have ended.
func (d *Decision) assess(in *Input, cond *conditionBuilder) {
	room := Missing(in.Spec)
	for i := range in.Spec.GracefulEvictionTasks {
		task := &in.Spec.GracefulEvictionTasks[i]
		if task.CreationTimestamp == nil {
			d.Started = true
			d.recheck(in.Now, in.Now.Add(grace(in, task)))
		}
		how, replicas := d.end(in, task, room, cond)
		if how == "" {
			continue
		}
		if how == workv1alpha2.EvictionReturned && bindings.Divided(in.Spec) {
			room -= int64(replicas)
		}
		d.Ended = append(d.Ended, Ended{Cluster: task.FromCluster, How: how, Replicas: replicas})
		d.rest(in, task, how)
	}
}

// rest records the clusters whose state the end of a task depends on. A task that somebody released depends on none.
func (d *Decision) rest(in *Input, task *workv1alpha2.GracefulEvictionTask, how string) {
	if how == workv1alpha2.EvictionReleased {
		return
	}
	if d.RestsOn == nil {
		d.RestsOn = sets.Set[string]{}
	}
	d.RestsOn.Insert(task.FromCluster)
	switch how {
	case workv1alpha2.EvictionReplaced:
		for _, target := range replacing(in, task) {
			d.RestsOn.Insert(target.Name)
		}
	case workv1alpha2.EvictionReturned:
		for _, target := range gained(in, task) {
			d.RestsOn.Insert(target.Name)
		}
	}
}

// end returns how a task ends, if it does, and with how many replicas a copy returns. Room is how many replicas have no
// cluster.
func (d *Decision) end(in *Input, task *workv1alpha2.GracefulEvictionTask, room int64, cond *conditionBuilder) (how string, replicas int32) {
	c := in.Clusters[task.FromCluster]
	replaced := d.replaced(in, task)
	d.resume(in, task)
	if gone(in, task.FromCluster) {
		return workv1alpha2.EvictionGone, 0
	}
	if task.SuppressDeletion != nil && !*task.SuppressDeletion {
		return workv1alpha2.EvictionReleased, 0
	}
	if replicas, ok := d.takeBack(in, task, room); ok {
		return workv1alpha2.EvictionReturned, replicas
	}
	switch {
	case kept(task):
		cond.leave(task, untilReleased)
	case directly(task) && there(in, task.FromCluster):
		cond.purge(task, heard(c))
	case !heard(c) && !directly(task):
		cond.leave(task, untilHeard)
	case taintsExpiring(in, task):
		cond.leave(task, untilHealthy) // the copy may stay: decided again once the taint is gone
	case replaced && !directly(task) && !d.reported(in, task):
		cond.leave(task, untilReported)
	case replaced && d.chosenAgain(in, task):
		cond.leave(task, untilChosen)
	case replaced:
		return workv1alpha2.EvictionReplaced, 0
	case !c.DeletionTimestamp.IsZero() && (in.Unscheduled || unplaceable(in)):
		return workv1alpha2.EvictionAbandoned, 0
	case task.CreationTimestamp == nil:
		cond.leave(task, untilGrace)
	default:
		since, must := d.compelled(in, task, cond)
		if must {
			return d.expire(in, task, since, cond), 0
		}
		cond.leave(task, untilHealthy)
	}
	return "", 0
}

// expire returns how a task ends because of its age; empty if it does not.
func (d *Decision) expire(in *Input, task *workv1alpha2.GracefulEvictionTask, since time.Time, cond *conditionBuilder) string {
	// The grace period starts over when the scheduler assigns new clusters. Not so if the namespace may no longer use
	// the cluster: otherwise each edit of the placement would postpone the end.
	begin, must := since, task.Producer == workv1alpha2.ProducerNamespaceClusters
	if at := in.Status.LastScheduledTime; at != nil && at.After(begin) && !must {
		begin = at.Time
	}
	waitsFor := unsent(in, task)
	if !must {
		begin = later(begin, d.Memory.Resumed[task.FromCluster])
	}
	deadline := begin.Add(grace(in, task))
	switch {
	case len(waitsFor) > 0 && !directly(task) && !must:
		cond.unsent(task, waitsFor)
		return ""
	case in.Now.Before(deadline):
		d.recheck(in.Now, deadline)
		cond.leave(task, untilGrace)
		return ""
	case !placed(in) && !directly(task) && !must:
		cond.stuck(task)
		return ""
	default:
		return workv1alpha2.EvictionTimedOut
	}
}

// kept says whether the copy stays until somebody releases it.
func kept(task *workv1alpha2.GracefulEvictionTask) bool {
	if task.SuppressDeletion != nil {
		return *task.SuppressDeletion
	}
	return task.PurgeMode.Canonical() == policyv1alpha1.PurgeNever
}

// compelled returns since when an application must leave a cluster, and whether it must. An application that left for a
// preferred cluster, or because of a taint that is gone, need not: its old copy stays until the replacement works,
// unless the cluster is being removed or a taint evicts it by now. A silent cluster does not compel: the hub itself may
// be cut off.
func (d *Decision) compelled(in *Input, task *workv1alpha2.GracefulEvictionTask, cond *conditionBuilder) (since time.Time, must bool) {
	c := in.Clusters[task.FromCluster]
	since = task.CreationTimestamp.Time
	if directly(task) {
		return since, task.Producer != workv1alpha2.ProducerScheduler
	}
	// While the cluster was silent nobody knew how the application fared there.
	since = later(since, in.HeardSince[task.FromCluster])
	if !c.DeletionTimestamp.IsZero() {
		return later(since, c.DeletionTimestamp.Time), true
	}
	switch task.Producer {
	case workv1alpha2.ProducerTaintManager:
		verdict, _ := d.drivenOut(in, cond, c)
		return since, verdict.Expired(in.Now)
	case workv1alpha2.ProducerScheduler:
		verdict, _ := d.drivenOut(in, cond, c)
		if !verdict.Expired(in.Now) {
			return since, false
		}
		at := verdict.Until
		if verdict.Seconds == nil {
			at = in.Now // if the time of the taint is unknown
			if verdict.Taint.TimeAdded != nil {
				at = verdict.Taint.TimeAdded.Time
			}
		}
		return later(since, at), true
	default:
		return since, true
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// directly says whether the old copy is deleted before replacements are created. Such a task lasts until the copy is
// gone, since it holds the replacements back.
func directly(task *workv1alpha2.GracefulEvictionTask) bool {
	return task.PurgeMode.Canonical() == policyv1alpha1.PurgeDirectly
}

func there(in *Input, cluster string) bool {
	_, ok := in.Works[cluster]
	return ok
}

// gone says whether nothing is left to do in a cluster: it does not exist, or it is being removed and nobody is there
// to do it.
func gone(in *Input, cluster string) bool {
	c := in.Clusters[cluster]
	return c == nil || (!c.DeletionTimestamp.IsZero() && !heard(c))
}

// taintsExpiring says whether all taints that evict the application are about to be removed.
func taintsExpiring(in *Input, task *workv1alpha2.GracefulEvictionTask) bool {
	c := in.Clusters[task.FromCluster]
	if task.Producer != workv1alpha2.ProducerTaintManager || len(in.Expiring[c.Name]) == 0 {
		return false
	}
	rest := slices.DeleteFunc(slices.Clone(c.Spec.Taints), func(t corev1.Taint) bool { return in.Expiring[c.Name].Has(t.Key) })
	return !tolerate(c.Spec.Taints, in.Tolerations, in.BySilence).Forever && tolerate(rest, in.Tolerations, in.BySilence).Forever
}
