package evict

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Decide decides which clusters to leave, and which tasks have ended.
func Decide(in Input) Decision {
	d := Decision{}
	cond := &conditionBuilder{}
	d.assess(&in, cond)
	d.byTaint(&in, cond)
	d.byHealth(&in, cond)
	slices.SortFunc(d.Evictions, func(a, b Eviction) int { return cmp.Compare(a.Cluster, b.Cluster) })
	slices.SortFunc(d.Ended, func(a, b Ended) int { return cmp.Compare(a.Cluster, b.Cluster) })
	d.Condition = cond.condition(in.Now)
	return d
}

// evict moves a target to an eviction task.
func (d *Decision) evict(in *Input, cond *conditionBuilder, target *workv1alpha2.TargetCluster, task workv1alpha2.GracefulEvictionTask) {
	task.FromCluster = target.Name
	task.CreationTimestamp = new(metav1.NewTime(in.Now.Truncate(time.Second)))
	if target.Replicas > 0 {
		task.Replicas = new(target.Replicas)
	}
	d.Evictions = append(d.Evictions, Eviction{Cluster: target.Name, Task: task})
	cond.leave(&task, untilGrace)
	d.recheck(in.Now, in.Now.Add(grace(in, &task)))
}

func (d *Decision) leaving(cluster string) bool {
	return slices.ContainsFunc(d.Evictions, func(e Eviction) bool { return e.Cluster == cluster })
}

// preserveRetry is the delay until state that could not be read is read again.
const preserveRetry = 15 * time.Second

// preserve reads the state that a replacement gets, and reports if it cannot be read. As in Karmada, only a copy that
// is deleted before its replacement is created hands over its state: the state of a copy that keeps running would be
// outdated by the time the replacement starts.
func preserve(in *Input, task *workv1alpha2.GracefulEvictionTask, cluster string, rules *policyv1alpha1.StatePreservation, cond *conditionBuilder) bool {
	if rules == nil || len(rules.Rules) == 0 {
		return true
	}
	if !directly(task) {
		task.Message += " Its state is not preserved: statePreservation works only with purgeMode Directly."
		return true
	}
	state, err := in.State(cluster, rules.Rules)
	if err != nil {
		cond.add(workv1alpha2.ReasonStateNotPreserved, metav1.ConditionFalse,
			fmt.Sprintf("%s It stays there, because the state to preserve cannot be read: %v.", task.Message, err))
		return false
	}
	task.PreservedLabelState = state
	return true
}

// health returns the health of the application in a cluster, or Unknown if the cluster is not heard from: a report from
// before it fell silent says nothing about now.
func health(in *Input, cluster string) workv1alpha1.ResourceHealth {
	item := in.item(cluster)
	if item == nil || !item.Applied || item.StaleSince != nil || !heard(in.Clusters[cluster]) {
		return workv1alpha1.Unknown
	}
	return item.Health
}

// heard says whether a cluster exists and its reports are current.
func heard(c *clusterv1alpha1.Cluster) bool {
	return c != nil && meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterReady)
}

// item returns the binding's aggregated status of a cluster; nil if there is none. It is indexed, since it is needed
// for each target and, for each task, for each target again.
func (in *Input) item(cluster string) *workv1alpha2.AggregatedStatusItem {
	if in.items == nil {
		all := in.Status.AggregatedStatus
		in.items = make(map[string]*workv1alpha2.AggregatedStatusItem, len(all))
		for i := range all {
			if in.items[all[i].ClusterName] == nil {
				in.items[all[i].ClusterName] = &all[i]
			}
		}
	}
	return in.items[cluster]
}

func grace(in *Input, task *workv1alpha2.GracefulEvictionTask) time.Duration {
	if task.GracePeriodSeconds != nil {
		return time.Duration(*task.GracePeriodSeconds) * time.Second
	}
	return cmp.Or(in.Options.Grace, DefaultGrace)
}
