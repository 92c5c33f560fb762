package operate

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// UpgradeAgent has a cluster's agent become another. With again, it is tried again though the agent
// has gone back from it or refused it. It says whether that changed anything.
func UpgradeAgent(ctx context.Context, hubClient client.Client, name string, wanted clusterv1alpha1.WantedAgent, again bool, fieldManager string) (bool, error) {
	return editCluster(ctx, hubClient, name, fieldManager, "asking for an upgrade of the agent", func(c *clusterv1alpha1.Cluster) {
		next := wanted
		if before := c.Spec.Agent; before != nil && before.Image == wanted.Image {
			next.Attempt = before.Attempt
			if again {
				next.Attempt++
			}
		}
		c.Spec.Agent = &next
	})
}
