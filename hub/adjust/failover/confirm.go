package failover

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/failover/evict"
)

// readSingly is up to how many Clusters are read one by one. More are listed.
const readSingly = 20

// confirm reads the clusters live that an application is about to leave. The cache of a hub that has just begun to work may be
// older than what the hub before it did: a taint that is gone since drives nobody out, and neither does a cluster that was
// removed and has joined again. So are those by whose state an eviction ends, since a copy goes then: the one that was left, and
// those that have what takes its place, or lose it again. Nothing else costs that. Many may leave a cluster that is being removed
// at once, but a deletion is never taken back: there it is enough that the Cluster is the same, which its metadata says.
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
			return behind(e.Cluster)
		}
	}
	return r.confirmEnds(ctx, in, d.RestsOn)
}

// confirmEnds reads the clusters live by whose state evictions end.
func (r *reconciler) confirmEnds(ctx context.Context, in *scope, names sets.Set[string]) error {
	if len(names) > readSingly {
		return r.confirmMany(ctx, in, names)
	}
	for _, name := range sets.List(names) {
		cached := in.Clusters[name]
		live, err := r.clusterNow(ctx, name, cached == nil || !cached.DeletionTimestamp.IsZero())
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading cluster %q before the eviction of an application ends: %w", name, err)
		}
		if err != nil {
			live = nil
		}
		if !asSeen(cached, live) {
			return behind(name)
		}
	}
	return nil
}

// confirmMany does the same by a list of all clusters.
func (r *reconciler) confirmMany(ctx context.Context, in *scope, names sets.Set[string]) error {
	live, err := r.live.get(ctx)
	if err != nil {
		return fmt.Errorf("looking at the clusters before the eviction of an application ends: %w", err)
	}
	for _, name := range sets.List(names) {
		if !asSeen(in.Clusters[name], live[name]) {
			r.live.forget()
			return behind(name)
		}
	}
	return nil
}

// asSeen says whether a cluster is as the cache shows it, as far as the end of an eviction depends on that. Of one that is being
// removed it is enough that it is the same, or no more.
func asSeen(cached, live *clusterv1alpha1.Cluster) bool {
	switch {
	case cached == nil:
		return live == nil
	case !cached.DeletionTimestamp.IsZero():
		return live == nil || live.UID == cached.UID
	case live == nil || live.UID != cached.UID || !live.DeletionTimestamp.IsZero():
		return false
	}
	ready := func(c *clusterv1alpha1.Cluster) bool {
		return meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	}
	return ready(live) == ready(cached) && equality.Semantic.DeepEqual(live.Spec.Taints, cached.Spec.Taints)
}

// behind is the answer to a cache that shows something else than there is: it is looked at again.
func behind(cluster string) error {
	return kube.CacheBehind(clusterv1alpha1.GroupVersion.WithResource("clusters").GroupResource(), cluster)
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
