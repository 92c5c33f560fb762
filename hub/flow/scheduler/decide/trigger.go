package decide

import (
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/assign"
)

// trigger says what calls for a new decision. An application whose replicas are
// divided stays as it is until something does: clusters that come or change do not
// move what runs. The wish to be placed from scratch comes first, because the others keep
// what they can.
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

// follows says whether the application goes to every cluster that fits, so that a
// decision depends on nothing that was before.
func follows(spec *workv1alpha2.ResourceBindingSpec) bool {
	s := assign.StrategyOf(spec)
	return s == assign.Everywhere || s == assign.Duplicated
}

// samePlacement compares two placements as JSON by what they say: the annotation may
// have been written by another program, with the keys in another order.
func samePlacement(applied, placement string) bool {
	if applied == placement {
		return true
	}
	if applied == "" {
		return false
	}
	var parsed *policyv1alpha1.Placement
	if err := json.Unmarshal([]byte(applied), &parsed); err != nil {
		return false
	}
	again, err := json.Marshal(parsed)
	return err == nil && string(again) == placement
}

// requested says whether somebody asks for a decision from scratch: since the last one, or
// before it and in vain. Who asks by a clock that is ahead is answered once, too.
func requested(in Input) bool {
	at := in.Spec.RescheduleTriggeredAt
	if at == nil || in.LastScheduled == nil {
		return false
	}
	name := triggerName(at)
	return in.Pending == name || in.LastScheduled.Before(at) && in.Answered != name
}

// triggerName is how the annotation names a wish.
func triggerName(at *metav1.Time) string { return at.UTC().Format(time.RFC3339) }

// pending says which wish for a decision from scratch stays open.
func pending(in Input, d Decision) string {
	switch {
	case d.Outcome == Refused:
		return in.Pending // nothing was looked at
	case d.Trigger == TriggerRequested && d.Outcome != Scheduled:
		return triggerName(in.Spec.RescheduleTriggeredAt)
	default:
		return ""
	}
}

// answered says which wish for a decision from scratch is done, by this decision or one before.
func answered(in Input, d Decision) string {
	switch {
	case d.Outcome == Refused:
		return in.Answered // nothing was looked at
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
