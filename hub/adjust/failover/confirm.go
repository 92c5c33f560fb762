package failover

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/adjust/failover/evict"
)

// confirm reads the clusters live that an application is about to leave. The cache of a hub that has just begun to work may be
// older than what the hub before it did: a taint that is gone since drives nobody out, and neither does a cluster that was
// removed and has joined again. Only evictions cost that, and they are limited.
func (r *reconciler) confirm(ctx context.Context, in *scope, d *evict.Decision) error {
	for _, e := range d.Evictions {
		live := &clusterv1alpha1.Cluster{}
		err := r.hubReader.Get(ctx, client.ObjectKey{Name: e.Cluster}, live)
		if apierrors.IsNotFound(err) {
			continue // it is left all the more
		}
		if err != nil {
			return fmt.Errorf("reading cluster %q before an application leaves it: %w", e.Cluster, err)
		}
		cached := in.Clusters[e.Cluster]
		if cached == nil || cached.UID != live.UID || !equality.Semantic.DeepEqual(cached.Spec.Taints, live.Spec.Taints) {
			return apierrors.NewConflict(clusterv1alpha1.GroupVersion.WithResource("clusters").GroupResource(), e.Cluster, errors.New("the cache is behind"))
		}
	}
	return nil
}
