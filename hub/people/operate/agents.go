package operate

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/kube"
)

// UpgradeAgent has a cluster's agent become another. With again, it is tried again though the agent
// has gone back from it or refused it. It says whether that changed anything.
func UpgradeAgent(ctx context.Context, hubClient client.Client, name string, wanted clusterv1alpha1.WantedAgent, again bool, fieldManager string) (bool, error) {
	changed := false
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		cluster := &clusterv1alpha1.Cluster{}
		err := hubClient.Get(ctx, client.ObjectKey{Name: name}, cluster)
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("the hub has no cluster %q any more; see `hub clusters`", name)
		case err != nil:
			return fmt.Errorf("reading cluster %q: %w", name, err)
		}
		edit, err := kube.Begin(cluster)
		if err != nil {
			return err
		}
		next := wanted
		if before := cluster.Spec.Agent; before != nil && before.Image == wanted.Image {
			next.Attempt = before.Attempt
			if again {
				next.Attempt++
			}
		}
		cluster.Spec.Agent = &next
		changed, err = edit.Commit(ctx, hubClient, fieldManager)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("asking for an upgrade of the agent of cluster %q: %w", name, err)
	}
	return changed, nil
}
