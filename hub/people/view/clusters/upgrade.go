package clusters

import (
	"fmt"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// upgradeOf returns a remark about the upgrade of a cluster's agent; empty if there is none.
func upgradeOf(c *clusterv1alpha1.Cluster) string {
	wanted, report := c.Spec.Agent, c.Status.AgentUpgrade
	if wanted == nil {
		return ""
	}
	if report == nil || report.Image != wanted.Image || report.Attempt != wanted.Attempt {
		return fmt.Sprintf("Its agent was asked to upgrade to %s, and has not answered.", wanted.Image)
	}
	switch report.Phase {
	case clusterv1alpha1.AgentUpgrading:
		return fmt.Sprintf("Its agent upgrades to %s.", wanted.Image)
	case clusterv1alpha1.AgentRolledBack:
		return fmt.Sprintf("Its agent went back from %s: %s.", wanted.Image, report.Message)
	case clusterv1alpha1.AgentRefused:
		return fmt.Sprintf("Its agent does not upgrade to %s: %s.", wanted.Image, report.Message)
	case clusterv1alpha1.AgentNotInPod:
		return fmt.Sprintf("The owner of its agent must upgrade it to %s; `hub upgrade status %s` says how.", wanted.Image, c.Name)
	case clusterv1alpha1.AgentUpgraded:
	}
	return ""
}
