package decide

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/assign"
)

// trigger returns the reason for a new decision. Without one, an application whose replicas are divided stays as it is: clusters that join
// or change do not move running replicas. A request for a decision from scratch comes first, because the other triggers keep what they can.
func trigger(in Input, placement string, current group) Trigger {
	switch {
	case requested(in):
		return TriggerRequested
	case !samePlacement(in.AppliedPlacement, placement):
		return TriggerPlacement
	case follows(in.Spec):
		return TriggerFollows
	case total(in.Spec.Clusters) != int64(in.Spec.Replicas):
		return TriggerReplicas
	case targetGone(in):
		return TriggerTargetGone
	case unfit(&in, current):
		return TriggerTargetUnfit
	default:
		return TriggerNone
	}
}

// follows returns whether the application goes to every cluster that fits, so that a decision does not depend on the current targets.
func follows(spec *workv1alpha2.ResourceBindingSpec) bool {
	s := assign.StrategyOf(spec)
	return s == assign.Everywhere || s == assign.Duplicated
}

// requested returns whether a decision from scratch is requested: after the last decision, or before it if the request is still pending.
// Answered ensures that a request by a clock that is ahead is fulfilled only once, too.
func requested(in Input) bool {
	at := in.Spec.RescheduleTriggeredAt
	if at == nil || in.LastScheduled == nil {
		return false
	}
	name := triggerName(at)
	return in.Pending == name || in.LastScheduled.Before(at) && in.Answered != name
}

// triggerName returns the name of a request in the annotations.
func triggerName(at *metav1.Time) string { return at.UTC().Format(time.RFC3339) }

// pending returns the request for a decision from scratch that stays open; empty if none does.
func pending(in Input, d Decision) string {
	switch {
	case d.Outcome == Refused:
		return in.Pending // the request was not considered
	case d.Trigger == TriggerRequested && d.Outcome != Scheduled:
		return triggerName(in.Spec.RescheduleTriggeredAt)
	default:
		return ""
	}
}

// answered returns the request for a decision from scratch that is done, by this decision or an earlier one.
func answered(in Input, d Decision) string {
	switch {
	case d.Outcome == Refused:
		return in.Answered // the request was not considered
	case in.Spec.RescheduleTriggeredAt == nil || d.Pending != "":
		return ""
	default:
		return triggerName(in.Spec.RescheduleTriggeredAt)
	}
}

func total(targets []workv1alpha2.TargetCluster) int64 {
	var sum int64
	for i := range targets {
		sum += int64(targets[i].Replicas)
	}
	return sum
}

func targetGone(in Input) bool {
	clusters := sortedClusters(in.Clusters)
	return slices.ContainsFunc(in.Spec.Clusters, func(t workv1alpha2.TargetCluster) bool { return clusters.named(t.Name) == nil })
}
