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

// byTaint evicts the application from targets because of their taints, or because the cluster is being removed.
func (d *Decision) byTaint(in *Input, cond *conditionBuilder) {
	for i := range in.Spec.Clusters {
		target := &in.Spec.Clusters[i]
		c := in.Clusters[target.Name]
		if c == nil {
			continue // the scheduler removes it
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

// driveOut evicts the application from a target because of a taint, unless something has to be waited for.
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

// stays says whether an object is never evicted, because deleting it would delete what it contains or all objects of
// its kind, including those that the member created itself.
func stays(spec *workv1alpha2.ResourceBindingSpec) bool {
	kind := schema.FromAPIVersionAndKind(spec.Resource.APIVersion, spec.Resource.Kind)
	return contract.IsContainer(kind.Group, kind.Kind)
}

// elsewhere says whether an application that a policy evicts from a cluster has another place. One that goes to every
// fitting cluster has none: it would only be missing here.
func (d *Decision) elsewhere(in *Input, cond *conditionBuilder, cluster string, verdict Tolerance) bool {
	if !taken(in.Spec) || in.Unscheduled {
		return false
	}
	if in.CouldPlaceWithout(d.without(cluster)) {
		return true
	}
	cond.add(workv1alpha2.ReasonNowhereToGo, metav1.ConditionFalse, verdict.Why(cluster)+" The application stays, because no other cluster that may have it has room.")
	d.recheck(in.Now, in.Now.Add(askAgain))
	return false
}

// without returns a cluster and those that this decision evicts from already.
func (d *Decision) without(cluster string) []string {
	out := []string{cluster}
	for _, e := range d.Evictions {
		out = append(out, e.Cluster)
	}
	return out
}

// drivenOut returns the verdict of a cluster's taints, and whether a policy added them. Taints from people always
// count. Those of a policy do not count on a silent cluster, since the hub itself may be cut off, and not on one that
// is back, whose taints are about to be removed.
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

// ofSilence adjusts the age of a taint if the line showed the cluster's silence earlier than its lease would have: the
// tolerations of policies count from when the lease would have shown it. A taint from before the silence keeps its age.
func (in *Input) ofSilence(c *clusterv1alpha1.Cluster, t corev1.Taint) corev1.Taint {
	since := disruption.Since(c)
	if since.IsZero() || t.TimeAdded == nil || t.TimeAdded.Time.Before(since) {
		return t
	}
	early := disruption.ActFrom(c, in.silence(), time.Time{}, time.Time{}).Sub(since)
	t.TimeAdded = &metav1.Time{Time: t.TimeAdded.Add(early)}
	return t
}

// asSeen limits the age of a taint to the time for which this process has seen it. Otherwise, if the hub's clock was
// behind when it tainted the cluster and is corrected, the difference would count as time for which the cluster was
// silent.
func (in *Input) asSeen(c *clusterv1alpha1.Cluster, t corev1.Taint) corev1.Taint {
	seen, ok := in.SeenFor[c.Name][t.Key]
	if since := in.Now.Add(-seen); ok && t.TimeAdded != nil && t.TimeAdded.Time.Before(since) {
		t.TimeAdded = &metav1.Time{Time: since}
	}
	return t
}

// silence is how long a member with nothing but its lease may be silent before the hub gives it up.
func (in *Input) silence() time.Duration {
	return cmp.Or(in.Options.Silence, disruption.DefaultSilence)
}

// suspended says whether taints of policies do not count, or not yet: the cluster is silent, and the hub itself may be
// cut off.
func (d *Decision) suspended(in *Input, cond *conditionBuilder, c *clusterv1alpha1.Cluster, verdict Tolerance) bool {
	counts := disruption.ActFrom(c, in.silence(), in.Began, in.HeardBy)
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

// taskOf returns an eviction task that is caused by a cluster rather than by the application, and the rules for the
// state to preserve.
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
