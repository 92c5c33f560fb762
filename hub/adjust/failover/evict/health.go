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
)

const (
	// defaultTolerance is how long an application may be unhealthy if nothing is said.
	defaultTolerance = 300 * time.Second
	// askAgain is after how long the scheduler is asked again for another place.
	askAgain = time.Minute
)

// byHealth finds the targets in which the application has been unhealthy for too long.
func (d *Decision) byHealth(in *Input, cond *conditionBuilder) {
	if in.Spec.Failover == nil || in.Spec.Failover.Application == nil || !in.HasHealthRule || stays(in.Spec) {
		return
	}
	rule := in.Spec.Failover.Application
	tolerance := defaultTolerance
	if s := rule.DecisionConditions.TolerationSeconds; s != nil {
		tolerance = time.Duration(*s) * time.Second
	}
	failed := workv1alpha2.GivenUp(in.Past, in.Spec.Resource.ResourceVersion, in.Now)
	for i := range in.Spec.Clusters {
		target := &in.Spec.Clusters[i]
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
				" It stays there: what it has is a revision that is being rolled out, and the rollout counts it as failed; see hub rollout status.")
			d.recheck(in.Now, in.Now.Add(askAgain))
			continue
		}
		without := append(slices.Clone(failed), target.Name)
		if !in.CouldPlaceWithout(without) {
			cond.add(workv1alpha2.ReasonNowhereToGo, metav1.ConditionFalse, why+" There is no other cluster for it that has room and in which it has not failed as well.")
			d.recheck(in.Now, in.Now.Add(askAgain))
			continue
		}
		task := failureTask(in, rule, why)
		if !preserve(in, &task, target.Name, rule.StatePreservation, cond) {
			d.recheck(in.Now, in.Now.Add(preserveRetry))
			continue
		}
		failed = without
		delete(d.Memory.Unhealthy, target.Name)
		d.evict(in, cond, target, task)
	}
}

// unhealthySince remembers since when the application is not healthy in a cluster.
func (d *Decision) unhealthySince(in *Input, cluster string) time.Time {
	since, known := in.Memory.Unhealthy[cluster]
	template := in.Spec.Resource.ResourceVersion
	if !known || in.Memory.Template != template {
		since = in.Now
	}
	if d.Memory.Unhealthy == nil {
		d.Memory.Unhealthy, d.Memory.Template = map[string]time.Time{}, template
	}
	d.Memory.Unhealthy[cluster] = since
	return since
}

func failureTask(in *Input, rule *policyv1alpha1.ApplicationFailoverBehavior, why string) workv1alpha2.GracefulEvictionTask {
	task := workv1alpha2.GracefulEvictionTask{
		Reason: workv1alpha2.EvictionApplicationFailure, Producer: workv1alpha2.ProducerApplicationFailover,
		PurgeMode: cmp.Or(rule.PurgeMode.Canonical(), policyv1alpha1.PurgeGracefully), Message: why,
		ClustersBeforeFailover: targetNames(in.Spec.Clusters),
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

func targetNames(targets []workv1alpha2.TargetCluster) []string {
	out := make([]string, len(targets))
	for i := range targets {
		out[i] = targets[i].Name
	}
	return out
}
