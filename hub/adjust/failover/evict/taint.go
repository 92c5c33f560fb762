package evict

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/disruption"
)

// byTaint finds the targets that have to be left because of their taints, or because the
// cluster is being removed.
func (d *Decision) byTaint(in *Input, cond *conditionBuilder) {
	for i := range in.Spec.Clusters {
		target := &in.Spec.Clusters[i]
		c := in.Clusters[target.Name]
		if c == nil {
			continue // the scheduler sees to it
		}
		if !c.DeletionTimestamp.IsZero() {
			task, _ := taskOf(in, workv1alpha2.EvictionClusterRemoved, workv1alpha2.ProducerClusterRemoval)
			task.Message = fmt.Sprintf("Cluster %s is being removed.", c.Name)
			d.evict(in, cond, target, task)
			continue
		}
		if stays(in.Spec) {
			continue
		}
		verdict, byPolicy := d.drivenOut(in, cond, c)
		if !verdict.Expired(in.Now) || byPolicy && !d.elsewhere(in, cond, c.Name, verdict) {
			continue
		}
		d.driveOut(in, cond, target, verdict)
	}
}

// driveOut leaves a target because of a taint, when all is ready for that.
func (d *Decision) driveOut(in *Input, cond *conditionBuilder, target *workv1alpha2.TargetCluster, verdict Tolerance) {
	task, rules := taskOf(in, workv1alpha2.EvictionTaintUntolerated, workv1alpha2.ProducerTaintManager)
	task.Message = verdict.Why(target.Name)
	if directly(&task) && !disruption.Since(in.Clusters[target.Name]).IsZero() {
		cond.held(target.Name, task.Message)
		return
	}
	if d.heldBySuspension(in, cond, &task, d.without(target.Name)) {
		return
	}
	if !preserve(in, &task, target.Name, rules, cond) {
		d.recheck(in.Now, in.Now.Add(preserveRetry))
		return
	}
	if wait := in.RateLimit(target.Name); wait > 0 {
		d.recheck(in.Now, in.Now.Add(wait))
		return
	}
	d.evict(in, cond, target, task)
}

// stays says whether an object never leaves a cluster, because all that is in it, or that is
// of its kind, would go with it: also what the member has made itself.
func stays(spec *workv1alpha2.ResourceBindingSpec) bool {
	kind := schema.FromAPIVersionAndKind(spec.Resource.APIVersion, spec.Resource.Kind)
	return contract.IsContainer(kind.Group, kind.Kind)
}

// elsewhere says whether an application that a policy drives out of a cluster has another
// place. What goes to every cluster that fits has none: it would only be missing here.
func (d *Decision) elsewhere(in *Input, cond *conditionBuilder, cluster string, verdict Tolerance) bool {
	if !taken(in.Spec) || in.Unscheduled {
		return false
	}
	if in.CouldPlaceWithout(d.without(cluster)) {
		return true
	}
	cond.add(workv1alpha2.ReasonNowhereToGo, metav1.ConditionFalse, verdict.Why(cluster)+" The application stays, because there is no other cluster for it that has room.")
	d.recheck(in.Now, in.Now.Add(askAgain))
	return false
}

// without names a cluster and those that are left by now.
func (d *Decision) without(cluster string) []string {
	out := []string{cluster}
	for _, e := range d.Evictions {
		out = append(out, e.Cluster)
	}
	return out
}

// drivenOut says whether taints drive an application out of a cluster, and whether it is a
// policy that put them there. What people say is believed; what a policy says of a cluster
// that is silent may be the hub's own fault, and what it said of one that is back is about to
// go.
func (d *Decision) drivenOut(in *Input, cond *conditionBuilder, c *clusterv1alpha1.Cluster) (verdict Tolerance, byPolicy bool) {
	var fromPeople, fromPolicy []corev1.Taint
	for _, t := range c.Spec.Taints {
		switch {
		case !in.ByCondition.Has(t.Key):
			fromPeople = append(fromPeople, t)
		case !in.Expiring[c.Name].Has(t.Key):
			fromPolicy = append(fromPolicy, in.ofSilence(c, in.asSeen(c, t)))
		}
	}
	people, policy := tolerate(fromPeople, in.Tolerations, in.BySilence), tolerate(fromPolicy, in.Tolerations, in.BySilence)
	for _, verdict := range []Tolerance{people, policy} {
		if !verdict.Forever && !verdict.Expired(in.Now) {
			d.recheck(in.Now, verdict.Until)
		}
	}
	if !people.Expired(in.Now) && policy.Expired(in.Now) && !d.suspended(in, cond, c, policy) {
		return policy, true
	}
	return people, false
}

// ofSilence has a taint of a cluster whose silence is known early be as young as if it had been known by its lease: policies say
// from then on for how long they tolerate it. What was there before the silence is as old as it says.
func (in *Input) ofSilence(c *clusterv1alpha1.Cluster, t corev1.Taint) corev1.Taint {
	since := disruption.Since(c)
	if since.IsZero() || t.TimeAdded == nil || t.TimeAdded.Time.Before(since) {
		return t
	}
	early := disruption.ActFrom(c, in.silence(), time.Time{}).Sub(since)
	t.TimeAdded = &metav1.Time{Time: t.TimeAdded.Add(early)}
	return t
}

// asSeen has a taint be no older than this process has seen it. A hub whose clock was behind when it tainted a cluster, and is put right,
// would count the difference as time for which the cluster was silent.
func (in *Input) asSeen(c *clusterv1alpha1.Cluster, t corev1.Taint) corev1.Taint {
	seen, ok := in.SeenFor[c.Name][t.Key]
	if since := in.Now.Add(-seen); ok && t.TimeAdded != nil && t.TimeAdded.Time.Before(since) {
		t.TimeAdded = &metav1.Time{Time: since}
	}
	return t
}

// silence is after how much of it the hub gives up members that have nothing but their lease.
func (in *Input) silence() time.Duration {
	return cmp.Or(in.Options.Silence, disruption.DefaultSilence)
}

// suspended says whether the taints of policies do not count, or not yet: the cluster is
// silent, and it may be the hub that is cut off.
func (d *Decision) suspended(in *Input, cond *conditionBuilder, c *clusterv1alpha1.Cluster, verdict Tolerance) bool {
	counts := disruption.ActFrom(c, in.silence(), in.Began)
	if counts.IsZero() {
		return false
	}
	if why, ok := in.Suspended[c.Name]; ok {
		cond.add(why.Reason, metav1.ConditionFalse, verdict.Why(c.Name)+" "+why.Message)
		return true
	}
	if known := counts.Add(disruption.Wait); in.Now.Before(known) {
		d.recheck(in.Now, known)
		return true
	}
	return false
}

// taskOf returns a task that is about a cluster, not about the application, and the rules
// for what is to go along.
func taskOf(in *Input, reason, producer string) (workv1alpha2.GracefulEvictionTask, *policyv1alpha1.StatePreservation) {
	task := workv1alpha2.GracefulEvictionTask{
		Reason: reason, Producer: producer, PurgeMode: cmp.Or(in.Options.PurgeMode, policyv1alpha1.PurgeGracefully),
	}
	f := in.Spec.Failover
	if f == nil || f.Cluster == nil {
		return task, nil
	}
	task.PurgeMode = cmp.Or(f.Cluster.PurgeMode.Canonical(), policyv1alpha1.PurgeGracefully)
	return task, f.Cluster.StatePreservation
}
