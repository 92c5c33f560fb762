package native

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
	return rules{reflect: status.reflect, aggregate: status.aggregate}
}
