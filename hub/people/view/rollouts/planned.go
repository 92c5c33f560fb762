package rollouts

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/flow/rollout/plan"
	"fairlead.dev/hub/people/view/applications"
)

// PlannedWave is a wave of a revision if it were made now.
type PlannedWave struct {
	Name string `json:"name"`
	// Clusters are its clusters in rollout order. Silent are those that are not heard from and would be set aside.
	Clusters []string `json:"clusters"`
	Silent   []string `json:"silent,omitempty"`
	// AtOnce is how many may be in flight, MayFail how many of those heard from may fail, and MustUpdate how many must
	// be healthy with the revision for the wave to pass.
	AtOnce     int `json:"atOnce"`
	MayFail    int `json:"mayFail"`
	MustUpdate int `json:"mustUpdate"`
	// Soak is how long the wave must be healthy, and Approval when a person must approve; empty if nobody must.
	Soak     string `json:"soak,omitempty"`
	Approval string `json:"approval,omitempty"`
	// Remark says what is unusual about it.
	Remark string `json:"remark,omitempty"`
}

// Planned divides the targets of an application into waves. The seed is the UID of its binding.
func Planned(strategy fairleadv1alpha1.RolloutStrategySpec, seed string, targets []*clusterv1alpha1.Cluster) []PlannedWave {
	strategy = plan.Defaulted(strategy)
	silent, labels := map[string]bool{}, map[string]bool{}
	for _, c := range targets {
		silent[c.Name] = !applications.FreshnessOf(c).Fresh
		for label := range c.Labels {
			labels[label] = true
		}
	}
	out := make([]PlannedWave, 0, len(strategy.Waves))
	for i, w := range plan.Waves(plan.Input{Strategy: strategy, Seed: seed, Targets: targets}) {
		says := &strategy.Waves[i]
		one := PlannedWave{Name: w.Name, Clusters: w.Clusters, Soak: soakOf(says)}
		for _, name := range w.Clusters {
			if silent[name] {
				one.Silent = append(one.Silent, name)
			}
		}
		heard := len(w.Clusters) - len(one.Silent)
		one.AtOnce = max(plan.Scaled(says.MaxConcurrent, len(w.Clusters), false), 1)
		one.MayFail = plan.Scaled(says.MaxFailures, heard, false)
		one.MustUpdate = min(int(*says.MinUpdated), len(w.Clusters))
		if says.Approval != fairleadv1alpha1.ApprovalNone {
			one.Approval = string(says.Approval)
		}
		switch {
		case len(w.Clusters) == 0 && one.Approval != "":
			one.Remark = "No cluster is in it now, but it needs an approval for clusters that may come."
		case len(w.Clusters) == 0:
			one.Remark = "No cluster is in it: it passes at once."
		case heard < one.MustUpdate:
			one.Remark = fmt.Sprintf("It waits until %d of its clusters are heard from.", one.MustUpdate)
		case says.OrderByLabel != "" && !labels[says.OrderByLabel]:
			one.Remark = fmt.Sprintf("No cluster has the label %s that it is ordered by.", says.OrderByLabel)
		}
		out = append(out, one)
	}
	return out
}

func soakOf(w *fairleadv1alpha1.Wave) string {
	if w.Soak == nil || w.Soak.Duration <= 0 {
		return ""
	}
	if w.Soak.Duration < time.Second {
		return w.Soak.Duration.String()
	}
	return duration.HumanDuration(w.Soak.Duration)
}
