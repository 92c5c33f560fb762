package native

import autoscalingv2 "k8s.io/api/autoscaling/v2"

// reasonScalingDisabled is the condition reason of an autoscaler whose target has 0 replicas.
const reasonScalingDisabled = "ScalingDisabled"

func podDisruptionBudget() rules {
	status := counters{always: []string{"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"}}
	return rules{
		reflect: func(live content) content {
			out := status.reflect(live)
			take(out, contentAt(live, "status"), "disruptedPods")
			return out
		},
		aggregate: func(template content, items []item) error {
			disrupted := content{}
			for _, it := range items {
				for pod, since := range contentAt(it.status, "disruptedPods") {
					disrupted[it.cluster+"/"+pod] = since
				}
			}
			total := contentAt(template, "status")
			delete(total, "disruptedPods")
			if len(disrupted) > 0 {
				total["disruptedPods"] = disrupted
			}
			return status.aggregate(template, items)
		},
		healthy: func(live content) bool {
			s := contentAt(live, "status")
			return number(s, "currentHealthy") >= number(s, "desiredHealthy")
		},
	}
}

func horizontalPodAutoscaler() rules {
	status := counters{always: []string{"desiredReplicas"}, nonzero: []string{"currentReplicas"}}
	return rules{reflect: status.reflect, aggregate: status.aggregate, healthy: scales}
}

// scales returns whether an autoscaler finds its target and its metrics. An autoscaler whose target was scaled to 0
// is disabled on purpose.
func scales(live content) bool {
	status := contentAt(live, "status")
	return holds(status, autoscalingv2.AbleToScale) &&
		(holds(status, autoscalingv2.ScalingActive) || text(conditionOf(status, autoscalingv2.ScalingActive), "reason") == reasonScalingDisabled)
}
