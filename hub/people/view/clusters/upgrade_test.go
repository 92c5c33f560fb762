package clusters

import (
	"testing"

	. "github.com/onsi/gomega"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

func TestRemarksOnUpgrades(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report *clusterv1alpha1.AgentUpgrade
		want   string
	}{
		"not answered":      {nil, "Its agent was asked to upgrade to agent:v2, and has not answered."},
		"about another":     {&clusterv1alpha1.AgentUpgrade{Image: "agent:v1", Attempt: 1, Phase: clusterv1alpha1.AgentUpgraded}, "Its agent was asked to upgrade to agent:v2, and has not answered."},
		"about another try": {&clusterv1alpha1.AgentUpgrade{Image: "agent:v2", Phase: clusterv1alpha1.AgentRolledBack}, "Its agent was asked to upgrade to agent:v2, and has not answered."},
		"under way":         {&clusterv1alpha1.AgentUpgrade{Image: "agent:v2", Attempt: 1, Phase: clusterv1alpha1.AgentUpgrading}, "Its agent upgrades to agent:v2."},
		"done":              {&clusterv1alpha1.AgentUpgrade{Image: "agent:v2", Attempt: 1, Phase: clusterv1alpha1.AgentUpgraded}, ""},
		"gone back from":    {&clusterv1alpha1.AgentUpgrade{Image: "agent:v2", Attempt: 1, Phase: clusterv1alpha1.AgentRolledBack, Message: "no reply"}, "Its agent went back from agent:v2: no reply."},
		"refused":           {&clusterv1alpha1.AgentUpgrade{Image: "agent:v2", Attempt: 1, Phase: clusterv1alpha1.AgentRefused, Message: "not ours"}, "Its agent does not upgrade to agent:v2: not ours."},
		"by hand":           {&clusterv1alpha1.AgentUpgrade{Image: "agent:v2", Attempt: 1, Phase: clusterv1alpha1.AgentNotInPod}, "The owner of its agent must upgrade it to agent:v2; `hub upgrade status edge-1` says how."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			cluster := &clusterv1alpha1.Cluster{}
			cluster.Name = "edge-1"
			cluster.Status.AgentUpgrade = c.report
			g.Expect(upgradeOf(cluster)).To(BeEmpty(), "nothing is wanted")
			cluster.Spec.Agent = &clusterv1alpha1.WantedAgent{Image: "agent:v2", Attempt: 1}
			g.Expect(upgradeOf(cluster)).To(Equal(c.want))
		})
	}
}
