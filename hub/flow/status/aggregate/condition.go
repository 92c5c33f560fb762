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

// Bounds of a message.
const (
	maxNames  = 5
	maxReason = 512
)

// fullyApplied is True if every target, and no other cluster, has the object as asked
// for. It stays as it is while all are well and some have yet to be given the latest change, or
// to report on it.
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

// verdicts are the clusters by what is to be said of them, each list sorted.
type verdicts struct {
	failed    []string // the cluster refused
	waiting   []string // the cluster has not reported
	suspended []string // the cluster was told to wait
	outdated  []string // the cluster has not reported on the latest change
	leaving   []string // the cluster still has what it should not have
	reason    string   // of the first that failed
}

// classify goes by the names of the targets, which are sorted.
func classify(targets []string, reports []Report, items []workv1alpha2.AggregatedStatusItem) verdicts {
	var v verdicts
	reported := map[string]bool{}
	for i, item := range items { // items are of the reports, in the same order
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

// complete says whether every target and no other cluster has the object.
func (v verdicts) complete() bool {
	return len(v.failed)+len(v.waiting)+len(v.suspended)+len(v.leaving) == 0
}

// message says in sentences which clusters are missing and why.
func (v verdicts) message(targets int) string {
	var parts []string
	if len(v.failed) > 0 {
		part := fmt.Sprintf("Failed in %d of %d clusters: %s.", len(v.failed), targets, list(v.failed))
		if v.reason != "" {
			part += fmt.Sprintf(" %s says: %s", v.failed[0], prose.Cut(v.reason, maxReason))
		}
		parts = append(parts, part)
	}
	if len(v.waiting) > 0 {
		parts = append(parts, fmt.Sprintf("Waiting for %s to report.", list(v.waiting)))
	}
	if len(v.outdated) > 0 {
		parts = append(parts, fmt.Sprintf("Waiting for %s to report on the latest change.", list(v.outdated)))
	}
	if len(v.suspended) > 0 {
		parts = append(parts, fmt.Sprintf("Delivery is suspended for %s.", list(v.suspended)))
	}
	if len(v.leaving) > 0 {
		parts = append(parts, fmt.Sprintf("Still in %s, to be removed from there.", list(v.leaving)))
	}
	return strings.Join(parts, " ")
}

// list names the first few of sorted names.
func list(names []string) string {
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}
