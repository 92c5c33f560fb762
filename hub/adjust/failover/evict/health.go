package evict

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/evictions"
)

const (
	// defaultTolerance is how long an application may be unhealthy if the policy does not say.
	defaultTolerance = 300 * time.Second
	// askAgain is the delay until the scheduler is asked again for another place.
	askAgain = time.Minute
)

// byHealth evicts the application from targets in which it has been unhealthy for too long.
func (d *Decision) byHealth(in *Input, cond *conditionBuilder) {
	if in.Spec.Failover == nil || in.Spec.Failover.Application == nil || !in.HasHealthRule || stays(in.Spec) {
		return
	}
	rule := in.Spec.Failover.Application
	tolerance := defaultTolerance
	if s := rule.DecisionConditions.TolerationSeconds; s != nil {
		tolerance = time.Duration(*s) * time.Second
	}
	failed := evictions.FailedIn(in.Past, in.Spec.Resource.ResourceVersion, in.Now)
	for i := range in.Spec.Clusters {
		target := &in.Spec.Clusters[i]
		d.keepUnheard(in, target.Name)
		if d.leaving(target.Name) || health(in, target.Name) != workv1alpha1.Unhealthy {
			continue
		}
		if until := d.unhealthySince(in, target.Name).Add(tolerance); in.Now.Before(until) {
			d.recheck(in.Now, until)
			continue
		}
		why := fmt.Sprintf("The application has not been healthy in cluster %s for more than %d s.", target.Name, int(tolerance.Seconds()))
		if in.Unproven != nil && in.Unproven(target.Name) {
			cond.add(workv1alpha2.ReasonRolloutJudges, metav1.ConditionFalse, why+
				" It stays there: it has a revision that is being rolled out, and the rollout counts the cluster as failed; see hub rollout status.")
			d.recheck(in.Now, in.Now.Add(askAgain))
			continue
		}
		without := append(slices.Clone(failed), target.Name)
		if !in.CouldPlaceWithout(without) {
			cond.add(workv1alpha2.ReasonNowhereToGo, metav1.ConditionFalse, why+" It stays there: no other cluster that its policy allows has room for it, or it has failed in each of them as well.")
			d.recheck(in.Now, in.Now.Add(askAgain))
			continue
		}
		task := failureTask(in, rule, why)
		if d.heldBySuspension(in, cond, &task, without) {
			continue
		}
		if !preserve(in, &task, target.Name, rule.StatePreservation, cond) {
			d.recheck(in.Now, in.Now.Add(preserveRetry))
			continue
		}
		if directly(&task) && len(task.PreservedLabelState) > 0 {
			// Only preserved state needs these names. They are as many as there are targets: with ten tasks of an
			// application in thousands of clusters, the binding would be too large for etcd.
			task.ClustersBeforeFailover = bindings.TargetNames(in.Spec.Clusters)
		}
		failed = without
		delete(d.Memory.Unhealthy, target.Name)
		d.evict(in, cond, target, task)
	}
}

// unhealthySince returns, and remembers, since when the application is unhealthy in a cluster.
func (d *Decision) unhealthySince(in *Input, cluster string) time.Time {
	since, known := in.Memory.Unhealthy[cluster]
	if at, unheard := in.Memory.Unheard[cluster]; unheard {
		gap := max(in.Now.Sub(at), 0)
		since, known = since.Add(gap), known && gap < in.silence()
	}
	if !known || in.Memory.Template != in.Spec.Resource.ResourceVersion {
		since = in.Now
	}
	d.remember(in, cluster, since)
	return since
}

// keepUnheard keeps the memory of an unhealthy application in a cluster whose line was lost a moment ago. Otherwise a
// line that is lost repeatedly would prevent the eviction forever.
func (d *Decision) keepUnheard(in *Input, cluster string) {
	since, known := in.Memory.Unhealthy[cluster]
	c := in.Clusters[cluster]
	if !known || c == nil || in.Memory.Template != in.Spec.Resource.ResourceVersion || !in.Now.Before(disruption.ActFrom(c, in.silence(), in.Began, in.HeardBy)) {
		return
	}
	at, unheard := in.Memory.Unheard[cluster]
	if !unheard {
		at = in.Now
	}
	d.remember(in, cluster, since)
	if d.Memory.Unheard == nil {
		d.Memory.Unheard = map[string]time.Time{}
	}
	d.Memory.Unheard[cluster] = at
}

func (d *Decision) remember(in *Input, cluster string, since time.Time) {
	if d.Memory.Unhealthy == nil {
		d.Memory.Unhealthy, d.Memory.Template = map[string]time.Time{}, in.Spec.Resource.ResourceVersion
	}
	d.Memory.Unhealthy[cluster] = since
}

func failureTask(in *Input, rule *policyv1alpha1.ApplicationFailoverBehavior, why string) workv1alpha2.GracefulEvictionTask {
	task := workv1alpha2.GracefulEvictionTask{
		Reason: workv1alpha2.EvictionApplicationFailure, Producer: workv1alpha2.ProducerApplicationFailover,
		PurgeMode: cmp.Or(rule.PurgeMode.Canonical(), policyv1alpha1.PurgeGracefully), Message: why,
	}
	if !in.Namespaced {
		task.Producer = workv1alpha2.ProducerClusterApplicationFailover
	}
	switch task.PurgeMode {
	case policyv1alpha1.PurgeGracefully:
		task.GracePeriodSeconds = rule.GracePeriodSeconds
	case policyv1alpha1.PurgeNever:
		task.SuppressDeletion = new(true)
	default:
	}
	return task
}
