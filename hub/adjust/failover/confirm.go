package failover

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/failover/evict"
)

// confirm reads the clusters live that an application is about to leave. The cache of a hub that has just begun to work may be
// older than what the hub before it did: a taint that is gone since drives nobody out, and neither does a cluster that was
// removed and has joined again. Only evictions cost that. Many may leave a cluster that is being removed at once, but a deletion
// is never taken back: there it is enough that the Cluster is the same, which its metadata says.
func (r *reconciler) confirm(ctx context.Context, in *scope, d *evict.Decision) error {
	for _, e := range d.Evictions {
		removed := e.Task.Producer == workv1alpha2.ProducerClusterRemoval
		live, err := r.clusterNow(ctx, e.Cluster, removed)
		if apierrors.IsNotFound(err) {
			continue // it is left all the more
		}
		if err != nil {
			return fmt.Errorf("reading cluster %q before an application leaves it: %w", e.Cluster, err)
		}
		cached := in.Clusters[e.Cluster]
		if cached == nil || cached.UID != live.UID || !removed && !equality.Semantic.DeepEqual(cached.Spec.Taints, live.Spec.Taints) {
			return kube.CacheBehind(clusterv1alpha1.GroupVersion.WithResource("clusters").GroupResource(), e.Cluster)
		}
	}
	return nil
}

// clusterNow reads a cluster live, or only its metadata.
func (r *reconciler) clusterNow(ctx context.Context, name string, metadata bool) (*clusterv1alpha1.Cluster, error) {
	cluster := &clusterv1alpha1.Cluster{}
	if !metadata {
		return cluster, r.hubReader.Get(ctx, client.ObjectKey{Name: name}, cluster)
	}
	read := kube.MetadataOf(clusterv1alpha1.GroupVersion.WithKind(clusterv1alpha1.KindCluster))
	err := r.hubReader.Get(ctx, client.ObjectKey{Name: name}, read)
	cluster.ObjectMeta = read.ObjectMeta
	return cluster, err
}
