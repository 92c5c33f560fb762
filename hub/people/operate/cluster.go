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

// editCluster changes a Cluster, retrying conflicts, and says whether that changed anything. Doing describes the change
// in errors, such as "changing the taints".
func editCluster(ctx context.Context, hubClient client.Client, name, fieldManager, doing string, change func(*clusterv1alpha1.Cluster)) (bool, error) {
	changed := false
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		cluster := &clusterv1alpha1.Cluster{}
		err := hubClient.Get(ctx, client.ObjectKey{Name: name}, cluster)
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("the hub has no cluster %q; `hub clusters` lists them", name)
		case err != nil:
			return fmt.Errorf("reading cluster %q: %w", name, err)
		}
		edit, err := kube.Begin(cluster)
		if err != nil {
			return err
		}
		change(cluster)
		if changed, err = edit.Commit(ctx, hubClient, fieldManager); err != nil {
			return fmt.Errorf("%s of cluster %q: %w", doing, name, err)
		}
		return nil
	})
	return changed, err
}
