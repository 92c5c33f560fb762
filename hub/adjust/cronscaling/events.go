package cronscaling

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	autoscalingv1alpha1 "fairlead.dev/common/api/autoscaling/v1alpha1"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/adjust/cronscaling/schedule"
)

// Reasons and the action of the stage's events.
const (
	reasonScaled    = "ScaleSucceed"
	reasonFailed    = "ScaleFailed"
	reasonMissed    = "ScaleMissed"
	reasonNotStarts = "StartRuleFailed"
	action          = "CronScale"
)

// notStarted is the event about invalid rules.
func notStarted(scaler *autoscalingv1alpha1.CronFederatedHPA, problem string) eventsink.Event {
	return eventsink.Event{Regarding: scaler, Type: corev1.EventTypeWarning, Reason: reasonNotStarts, Action: action, Note: problem}
}

// eventsOf returns the events to emit after the status was written.
func eventsOf(scaler *autoscalingv1alpha1.CronFederatedHPA, plans []schedule.Plan, outcomes map[string]schedule.Outcome) []eventsink.Event {
	var out []eventsink.Event
	tell := func(kind, reason, note string) {
		out = append(out, eventsink.Event{Regarding: scaler, Type: kind, Reason: reason, Action: action, Note: note})
	}
	for i := range plans {
		p := &plans[i]
		if p.Missed != nil {
			tell(corev1.EventTypeWarning, reasonMissed, fmt.Sprintf("Rule %s did not scale %s. %s", p.Rule.Name, nameOf(scaler), p.Missed))
		}
		switch outcome, done := outcomes[p.Rule.Name]; {
		case !done:
		case outcome.Failure != nil:
			tell(corev1.EventTypeWarning, reasonFailed, fmt.Sprintf("Rule %s did not scale %s. %v", p.Rule.Name, nameOf(scaler), outcome.Failure))
		default:
			tell(corev1.EventTypeNormal, reasonScaled, fmt.Sprintf("Rule %s scaled %s to %d replicas.", p.Rule.Name, nameOf(scaler), outcome.Replicas))
		}
	}
	return out
}
