package operate

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// UpgradeAgent requests another version of a cluster's agent. With again, it is attempted again even if the agent has
// rolled it back or refused it. It says whether that changed the Cluster.
//
// wanted.Attempt is the present time in Unix seconds, and a lower bound for the number of a new attempt. So attempts
// always increase, and an agent recognizes an outdated request of a hub that was restored from a backup.
func UpgradeAgent(ctx context.Context, hubClient client.Client, name string, wanted clusterv1alpha1.WantedAgent, again bool, fieldManager string) (bool, error) {
	return editCluster(ctx, hubClient, name, fieldManager, "asking for an upgrade of the agent", func(c *clusterv1alpha1.Cluster) {
		next := wanted
		switch before := c.Spec.Agent; {
		case before == nil:
		case before.Image == wanted.Image && before.Version == wanted.Version && !again:
			next.Attempt = before.Attempt
		default:
			next.Attempt = max(before.Attempt+1, wanted.Attempt)
		}
		c.Spec.Agent = &next
	})
}
