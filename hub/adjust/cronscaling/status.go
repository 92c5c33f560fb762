package cronscaling

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscalingv1alpha1 "fairlead.dev/common/api/autoscaling/v1alpha1"
	"fairlead.dev/common/prose"
	"fairlead.dev/hub/adjust/cronscaling/schedule"
)

// setRulesValid sets the condition that says whether all rules are valid, and what is wrong with those that are not.
func setRulesValid(scaler *autoscalingv1alpha1.CronFederatedHPA, plans []schedule.Plan) {
	c := metav1.Condition{
		Type: autoscalingv1alpha1.CronRulesValid, Status: metav1.ConditionTrue, Reason: autoscalingv1alpha1.ReasonRulesValid,
		Message: "Each rule that is not suspended has a next time.", ObservedGeneration: scaler.Generation,
	}
	var problems []string
	for i := range plans {
		if err := plans[i].Problem; err != nil {
			problems = append(problems, "Rule "+plans[i].Rule.Name+" is never due: "+err.Error()+".")
		}
	}
	if len(problems) > 0 {
		c.Status, c.Reason = metav1.ConditionFalse, autoscalingv1alpha1.ReasonInvalidRule
		c.Message = prose.Cut(strings.Join(problems, " "), prose.OfCondition)
	}
	meta.SetStatusCondition(&scaler.Status.Conditions, c)
}

// problemOf returns what the status reports as wrong with the rules; empty if nothing is.
func problemOf(scaler *autoscalingv1alpha1.CronFederatedHPA) string {
	c := meta.FindStatusCondition(scaler.Status.Conditions, autoscalingv1alpha1.CronRulesValid)
	if c == nil || c.Status == metav1.ConditionTrue {
		return ""
	}
	return c.Message
}
