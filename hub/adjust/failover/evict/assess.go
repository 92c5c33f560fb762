package evict

import (
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// settled is after how long a report that says Healthy is believed although it counts
// fewer replicas than were assigned: an override or an autoscaler may want fewer there.
const settled = 30 * time.Second

// assess says which of the tasks are over.
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
	}
}

// end says how a task ends, if it does, and with how many replicas a copy returns. Room is how
// many replicas have no cluster.
func (d *Decision) end(in *Input, task *workv1alpha2.GracefulEvictionTask, room int64, cond *conditionBuilder) (how string, replicas int32) {
	c := in.Clusters[task.FromCluster]
	replaced := d.replaced(in, task)
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
		cond.leave(task, untilHealthy) // the copy may stay: it is looked at when the taint is gone
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

// expire says whether a task is over because of its age.
func (d *Decision) expire(in *Input, task *workv1alpha2.GracefulEvictionTask, since time.Time, cond *conditionBuilder) string {
	// The new copies have as much time from when they got their clusters. A cluster that is not the namespace's any
	// more is left in time all the same, or each edit of the placement would put that off.
	begin, must := since, task.Producer == workv1alpha2.ProducerNamespaceClusters
	if at := in.Status.LastScheduledTime; at != nil && at.After(begin) && !must {
		begin = at.Time
	}
	deadline := begin.Add(grace(in, task))
	switch {
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

// kept says that a copy stays until somebody lets it go.
func kept(task *workv1alpha2.GracefulEvictionTask) bool {
	if task.SuppressDeletion != nil {
		return *task.SuppressDeletion
	}
	return task.PurgeMode.Canonical() == policyv1alpha1.PurgeNever
}

// compelled says since when an application has to leave a cluster. What leaves for a place
// that is preferred stays as long as it does not work there, unless the cluster is being
// removed by now, or a taint drives it out; and so does what left because of a taint that is
// gone. A cluster that is silent is no reason: it may be the hub that is cut off.
func (d *Decision) compelled(in *Input, task *workv1alpha2.GracefulEvictionTask, cond *conditionBuilder) (since time.Time, must bool) {
	c := in.Clusters[task.FromCluster]
	since = task.CreationTimestamp.Time
	if directly(task) {
		return since, task.Producer != workv1alpha2.ProducerScheduler
	}
	// Nobody saw how it fared elsewhere, and there, while the cluster was silent.
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
			at = in.Now // until it is known since when the taint is there
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

// taintsExpiring says whether the only taints that drive an application out are about to go.
func taintsExpiring(in *Input, task *workv1alpha2.GracefulEvictionTask) bool {
	c := in.Clusters[task.FromCluster]
	if task.Producer != workv1alpha2.ProducerTaintManager || len(in.Expiring[c.Name]) == 0 {
		return false
	}
	rest := slices.DeleteFunc(slices.Clone(c.Spec.Taints), func(t corev1.Taint) bool { return in.Expiring[c.Name].Has(t.Key) })
	return !tolerate(c.Spec.Taints, in.Tolerations, in.BySilence).Forever && tolerate(rest, in.Tolerations, in.BySilence).Forever
}

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

// replaced says whether the application is healthy in every target that gained from an
// eviction, as the scheduler chose them last. A target that has no more than before replaces
// nothing: if it is unhealthy, another copy would not help it. If it is not known which gained,
// or none did, it has to be healthy in all of them.
func (d *Decision) replaced(in *Input, task *workv1alpha2.GracefulEvictionTask) bool {
	if !placed(in) {
		return false
	}
	var gained []string
	if past := underWay(in, task); past != nil {
		gained = past.Gained(in.Spec.Clusters)
	}
	for i := range in.Spec.Clusters {
		target := &in.Spec.Clusters[i]
		if (len(gained) == 0 || slices.Contains(gained, target.Name)) && !d.works(in, target) {
			return false
		}
	}
	return true
}

// works says whether the application is healthy in a target with all of its share.
func (d *Decision) works(in *Input, target *workv1alpha2.TargetCluster) bool {
	if health(in, target.Name) != workv1alpha1.Healthy {
		return false
	}
	ready, counted := bindings.Ready(itemOf(in.Status, target.Name))
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
