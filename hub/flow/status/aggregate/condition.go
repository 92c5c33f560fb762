package aggregate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/prose"
)

// Bounds of a message: how many clusters it names, and how much of a cluster's own message it quotes, in bytes.
const (
	maxNames  = 5
	maxReason = 512
)

// fullyApplied returns the condition FullyApplied: True if every target has the latest object and no other cluster has it. A condition
// that is True stays so while no target fails and some have yet to receive the latest change, or to report on it.
func fullyApplied(
	in Input, reports []Report, items []workv1alpha2.AggregatedStatusItem, before *metav1.Condition,
) metav1.Condition {
	condition := metav1.Condition{
		Type:               workv1alpha2.BindingFullyApplied,
		Status:             metav1.ConditionFalse,
		ObservedGeneration: in.Generation,
		LastTransitionTime: metav1.NewTime(in.Now),
		Reason:             workv1alpha2.ReasonFullyAppliedFailed,
	}
	targets := bindings.Places(in.Spec)
	v := classify(targets, reports, items)
	switch {
	case len(targets) == 0 && len(v.leaving) == 0:
		condition.Message = "No cluster is chosen; see condition Scheduled."
	case v.complete() && (len(v.outdated) > 0 || in.Unrendered) && before != nil && before.Status == metav1.ConditionTrue:
		return *before
	case v.complete() && len(v.outdated) == 0:
		condition.Status = metav1.ConditionTrue
		condition.Reason = workv1alpha2.ReasonFullyAppliedSuccess
		condition.Message = "All works have been successfully applied"
	default:
		condition.Message = v.message(len(targets))
	}
	return condition
}

// verdicts groups the clusters by their state; each list is sorted.
type verdicts struct {
	failed    []string // the cluster refused
	waiting   []string // the cluster has not reported
	suspended []string // dispatching to the cluster is suspended
	outdated  []string // the cluster has not reported on the latest change
	leaving   []string // the cluster still has the object and is no target
	reason    string   // the message of the first that failed
}

// classify groups the clusters. The targets must be sorted.
func classify(targets []string, reports []Report, items []workv1alpha2.AggregatedStatusItem) verdicts {
	var v verdicts
	reported := map[string]bool{}
	for i, item := range items { // items[i] is made of reports[i]
		cluster, work := item.ClusterName, reports[i].Work
		_, target := slices.BinarySearch(targets, cluster)
		reported[cluster] = true
		applied := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkApplied)
		switch {
		case !target:
			v.leaving = append(v.leaving, cluster)
		case applied != nil && !item.Applied:
			v.failed = append(v.failed, cluster)
			if v.reason == "" {
				v.reason = item.AppliedMessage
			}
		case applied == nil && ptr.Deref(work.Spec.SuspendDispatching, false):
			v.suspended = append(v.suspended, cluster)
		case applied == nil:
			v.waiting = append(v.waiting, cluster)
		case applied.ObservedGeneration > 0 && applied.ObservedGeneration < work.Generation:
			v.outdated = append(v.outdated, cluster)
		}
	}
	for _, cluster := range targets {
		if !reported[cluster] {
			v.waiting = append(v.waiting, cluster)
		}
	}
	slices.Sort(v.waiting)
	return v
}

// complete returns whether every target and no other cluster has the object, in whatever version.
func (v verdicts) complete() bool {
	return len(v.failed)+len(v.waiting)+len(v.suspended)+len(v.leaving) == 0
}

// message says which clusters are missing and why.
func (v verdicts) message(targets int) string {
	var parts []string
	if len(v.failed) > 0 {
		part := fmt.Sprintf("Failed in %d of %d clusters: %s.", len(v.failed), targets, prose.Names(v.failed, maxNames))
		if v.reason != "" {
			part += fmt.Sprintf(" %s says: %s", v.failed[0], prose.Cut(v.reason, maxReason))
		}
		parts = append(parts, part)
	}
	if len(v.waiting) > 0 {
		parts = append(parts, fmt.Sprintf("Waiting for %s to report.", prose.Names(v.waiting, maxNames)))
	}
	if len(v.outdated) > 0 {
		parts = append(parts, fmt.Sprintf("Waiting for %s to report on the latest change.", prose.Names(v.outdated, maxNames)))
	}
	if len(v.suspended) > 0 {
		parts = append(parts, fmt.Sprintf("Delivery is suspended for %s.", prose.Names(v.suspended, maxNames)))
	}
	if len(v.leaving) > 0 {
		parts = append(parts, fmt.Sprintf("Still in %s, to be removed from there.", prose.Names(v.leaving, maxNames)))
	}
	return strings.Join(parts, " ")
}
