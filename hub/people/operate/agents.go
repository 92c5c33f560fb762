package operate

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// UpgradeAgent has a cluster's agent become another. With again, it is tried again though the agent
// has gone back from it or refused it. It says whether that changed anything.
//
// wanted.Attempt is the time, in seconds since 1970, and what a new attempt is at least. So attempts rise, whatever is wanted, and
// an agent knows what a hub wanted earlier that was restored from a backup.
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
