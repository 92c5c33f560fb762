package evict

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/failover/tolerate"
)

// settled is after how long a report that says Healthy is believed although it counts
// fewer replicas than were assigned: an override or an autoscaler may want fewer there.
const settled = 30 * time.Second

// assess says which of the tasks are over.
func (d *Decision) assess(in *Input, v *voice) {
	replaced := d.replaced(in)
	room := Missing(in.Spec)
	for i := range in.Spec.GracefulEvictionTasks {
		task := &in.Spec.GracefulEvictionTasks[i]
		if task.CreationTimestamp == nil {
			d.Started = true
			d.recheck(in.Now, in.Now.Add(grace(in, task)))
		}
		e := Ended{Cluster: task.FromCluster}
		switch {
		case gone(in, task.FromCluster):
			e.How = workv1alpha2.EvictionGone
		case task.SuppressDeletion != nil && !*task.SuppressDeletion:
			e.How = workv1alpha2.EvictionReleased
		case returns(in, task, room):
			e.How, e.Replicas = workv1alpha2.EvictionReturned, ptr.Deref(task.Replicas, 0)
			if divided(in.Spec) {
				e.Replicas = min(e.Replicas, int32(max(room, 0)))
			}
			room -= int64(e.Replicas)
		case kept(task):
			v.leave(task, untilReleased)
		case directly(task) && there(in, task.FromCluster):
			v.purge(task, heard(in.Clusters[task.FromCluster]))
		case replaced:
			e.How = workv1alpha2.EvictionReplaced
		case !in.Clusters[task.FromCluster].DeletionTimestamp.IsZero() && unplaceable(in):
			e.How = workv1alpha2.EvictionAbandoned
		case task.CreationTimestamp == nil:
			v.leave(task, untilGrace)
		default:
			since, must := d.compelled(in, task, v)
			if !must {
				v.leave(task, untilHealthy)
				break
			}
			e.How = d.expire(in, task, since, v)
		}
		if e.How != "" {
			d.Ended = append(d.Ended, e)
		}
	}
}

// expire says whether a task is over because of its age.
func (d *Decision) expire(in *Input, task *workv1alpha2.GracefulEvictionTask, since time.Time, v *voice) string {
	// The new copies have as much time from when they got their clusters.
	begin := since
	if at := in.Status.LastScheduledTime; at != nil && at.After(begin) {
		begin = at.Time
	}
	deadline := begin.Add(grace(in, task))
	switch {
	case in.Now.Before(deadline):
		d.recheck(in.Now, deadline)
		v.leave(task, untilGrace)
		return ""
	case !placed(in) && !directly(task):
		v.stuck(task)
		return ""
	default:
		return workv1alpha2.EvictionTimedOut
	}
}

// kept says that a copy stays until somebody lets it go.
func kept(task *workv1alpha2.GracefulEvictionTask) bool {
	if task.SuppressDeletion != nil {
		return *task.SuppressDeletion
	}
	return task.PurgeMode.Canonical() == policyv1alpha1.PurgeNever
}

// compelled says since when an application has to leave a cluster. What leaves for a place
// that is preferred stays as long as it does not work there, unless the cluster is being
// removed by now, or a taint drives it out. A cluster that is silent is no reason: it may
// be the hub that is cut off.
func (d *Decision) compelled(in *Input, task *workv1alpha2.GracefulEvictionTask, v *voice) (since time.Time, must bool) {
	since = task.CreationTimestamp.Time
	if task.Producer != workv1alpha2.ProducerScheduler {
		return since, true
	}
	c := in.Clusters[task.FromCluster]
	if !heard(c) {
		return since, false
	}
	if !c.DeletionTimestamp.IsZero() {
		return later(since, c.DeletionTimestamp.Time), true
	}
	verdict := d.drivenOut(in, v, c)
	if !verdict.Expired(in.Now) {
		return since, false
	}
	at := verdict.Until
	if verdict.Seconds == nil {
		at = in.Now // until it is known since when the taint is there
		if verdict.Taint.TimeAdded != nil {
			at = verdict.Taint.TimeAdded.Time
		}
	}
	return later(since, at), true
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// directly says that the old copy goes before new ones are made. Its task lasts as long as
// that takes: new ones are held back by it.
func directly(task *workv1alpha2.GracefulEvictionTask) bool {
	return task.PurgeMode.Canonical() == policyv1alpha1.PurgeDirectly
}

func there(in *Input, cluster string) bool {
	_, ok := in.Works[cluster]
	return ok
}

// gone says that nothing is to be done in a cluster any more: it is no more, or is being
// removed and nobody is there to do it.
func gone(in *Input, cluster string) bool {
	c := in.Clusters[cluster]
	return c == nil || (!c.DeletionTimestamp.IsZero() && !heard(c))
}

// returns says that the cause of a task is gone, and that nothing has taken the place of
// the copy.
func returns(in *Input, task *workv1alpha2.GracefulEvictionTask, room int64) bool {
	c := in.Clusters[task.FromCluster]
	if !heard(c) || !c.DeletionTimestamp.IsZero() {
		return false
	}
	if divided(in.Spec) && room <= 0 || !divided(in.Spec) && taken(in.Spec) && placed(in) {
		return false
	}
	switch task.Producer {
	case workv1alpha2.ProducerTaintManager:
		return tolerate.Decide(c.Spec.Taints, in.Tolerations).Forever
	case workv1alpha2.ProducerApplicationFailover, workv1alpha2.ProducerClusterApplicationFailover:
		return !placed(in) && health(in, task.FromCluster) == workv1alpha1.Healthy
	case workv1alpha2.ProducerScheduler:
		return Missing(in.Spec) > 0 && refused(in)
	default:
		return false
	}
}

// refused says that the scheduler does not find a place for all of the application as it is.
func refused(in *Input) bool {
	c := meta.FindStatusCondition(in.Status.Conditions, workv1alpha2.BindingScheduled)
	return c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration >= in.Generation &&
		(c.Reason == workv1alpha2.ReasonUnschedulable || c.Reason == workv1alpha2.ReasonNoClusterFit)
}

// replaced says whether the application is healthy in every target, as the scheduler
// chose them last.
func (d *Decision) replaced(in *Input) bool {
	if !placed(in) {
		return false
	}
	for i := range in.Spec.Clusters {
		target := &in.Spec.Clusters[i]
		if health(in, target.Name) != workv1alpha1.Healthy {
			return false
		}
		ready, counted := Ready(itemOf(in.Status, target.Name))
		if counted && ready >= target.Replicas || !counted && !grew(in, target) {
			continue
		}
		if !in.Works[target.Name].Observed || in.Status.LastScheduledTime == nil {
			return false
		}
		if at := in.Status.LastScheduledTime.Add(settled); in.Now.Before(at) {
			d.recheck(in.Now, at)
			return false
		}
	}
	return true
}

// grew says whether a cluster has more of the application than before an eviction that is
// under way. That it is healthy there may be said of the smaller share.
func grew(in *Input, target *workv1alpha2.TargetCluster) bool {
	return slices.ContainsFunc(in.Past, func(e workv1alpha2.Eviction) bool {
		return e.Ended == nil && slices.ContainsFunc(e.Before, func(was workv1alpha2.TargetCluster) bool {
			return was.Name == target.Name && was.Replicas < target.Replicas
		})
	})
}

// unplaceable says that the scheduler finds no cluster that could ever take the
// application as things are.
func unplaceable(in *Input) bool {
	c := meta.FindStatusCondition(in.Status.Conditions, workv1alpha2.BindingScheduled)
	return c != nil && c.Reason == workv1alpha2.ReasonNoClusterFit && c.ObservedGeneration >= in.Generation
}
