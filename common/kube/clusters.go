package kube

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// Clusters returns the Clusters of a hub, to be read and not to be changed: those of a cache are
// what everybody else reads as well.
func Clusters(ctx context.Context, r client.Reader) ([]*clusterv1alpha1.Cluster, error) {
	var list clusterv1alpha1.ClusterList
	out, err := listShared(ctx, r, &list, &list.Items, func(one *clusterv1alpha1.Cluster) *clusterv1alpha1.Cluster { return one })
	if err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	return out, nil
}
