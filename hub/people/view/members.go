package view

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/override"
	"fairlead.dev/hub/people/explain"
	"fairlead.dev/hub/people/view/rollouts"
)

// members reads the state of a binding in each cluster that has it or should.
func (r *Reader) members(ctx context.Context, report *explain.Report, b kube.Binding, clusters []*clusterv1alpha1.Cluster) error {
	wanted := map[string]bool{}
	for _, target := range bindings.Targets(b.BindingSpec()) {
		wanted[target.Name] = true
	}
	list, err := r.Works(ctx, b)
	unread := apierrors.IsForbidden(err)
	switch {
	case unread:
		report.State = append(report.State, "You may not read Works: only the summary in the binding is shown for each cluster.")
	case err != nil:
		return err
	}
	staged, err := r.stagedIn(ctx, report, b, clusters, list)
	if err != nil {
		return err
	}
	works := map[string]*workv1alpha1.Work{}
	for i := range list {
		works[list[i].Namespace] = &list[i]
	}
	items := map[string]workv1alpha2.AggregatedStatusItem{}
	for _, item := range b.BindingStatus().AggregatedStatus {
		items[item.ClusterName] = item
	}
	for _, c := range clusters {
		work := works[ExecutionNamespace(c)]
		item, known := items[c.Name]
		if !wanted[c.Name] && work == nil && (!unread || !known) {
			continue
		}
		delete(wanted, c.Name)
		m := member(c, work, item)
		if unread {
			m.Message = "no agent has reported on it yet"
			if known {
				m.Applied, m.Message = string(summedUp(item)), item.AppliedMessage
			}
		}
		m.Rollout = staged[c.Name]
		report.Members = append(report.Members, m)
	}
	for _, gone := range slices.Sorted(maps.Keys(wanted)) {
		report.Members = append(report.Members, explain.Member{Cluster: gone, Ready: "gone", Message: "the hub has no such Cluster any more"})
	}
	return nil
}

// stagedIn adds the staged rollout to a report, and returns each cluster's state in it.
func (r *Reader) stagedIn(
	ctx context.Context, report *explain.Report, b kube.Binding, clusters []*clusterv1alpha1.Cluster, works []workv1alpha1.Work,
) (map[string]*rollouts.Cluster, error) {
	if !bindings.IsStaged(b) {
		return nil, nil
	}
	ro, err := r.rollout(ctx, b)
	if ro == nil || err != nil {
		return nil, err
	}
	staged := rollouts.Of(ro, templateOf(b), r.clock.Now())
	report.Rollout = &staged
	names := executionNamespaces(clusters)
	sent := map[string]rollouts.Sent{}
	for i := range works {
		sent[names[works[i].Namespace]] = sentOf(&works[i]) // the reasons for pods that are not ready have their own table
	}
	out := map[string]*rollouts.Cluster{}
	for _, c := range rollouts.Clusters(ro.RolloutStatus(), targetNames(b), sent) {
		out[c.Name] = &c
	}
	return out, nil
}

// summedUp returns, from the status of a binding, whether the object is applied in a cluster.
func summedUp(item workv1alpha2.AggregatedStatusItem) metav1.ConditionStatus {
	if item.Applied {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

func member(c *clusterv1alpha1.Cluster, work *workv1alpha1.Work, item workv1alpha2.AggregatedStatusItem) explain.Member {
	m := explain.Member{Cluster: c.Name, Ready: "Unknown", Health: string(item.Health)}
	if ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady); ready != nil {
		m.Ready = string(ready.Status)
	}
	if work == nil {
		m.Message = "there is no Work yet; if this does not change, see the Warning events of the object"
		return m
	}
	m.Work = work.Name
	m.Suspended = work.Spec.SuspendDispatching != nil && *work.Spec.SuspendDispatching
	applied := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkApplied)
	if applied != nil {
		m.Applied, m.Reported = string(applied.Status), &applied.LastTransitionTime
		if applied.Status != "True" {
			m.Message = applied.Message
		}
	} else {
		m.Message = "the agent has not reported on it yet"
	}
	if m.Message == "" {
		m.Message = notWatched(work, applied)
	}
	if work.DeletionTimestamp != nil {
		m.Message = "it is being removed from this cluster"
	}
	m.Overrides, m.WithoutEffect = override.Names(work.Annotations), override.WithoutEffect(work.Annotations)
	for i := range work.Status.ManifestStatuses {
		m.PodReasons = append(m.PodReasons, work.Status.ManifestStatuses[i].PodReasons...)
	}
	return m
}

// notWatched returns the agent's message about a watch that the member refuses; empty if there is none. If an agent is
// downgraded to a version without this condition, nobody removes it, so it is ignored if it is older than the last
// report of Applied.
func notWatched(work *workv1alpha1.Work, applied *metav1.Condition) string {
	c := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkNotWatched)
	if c == nil || c.Status != metav1.ConditionTrue || applied == nil || c.ObservedGeneration != applied.ObservedGeneration {
		return ""
	}
	return c.Message
}
