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

// readSingly is the largest number of Clusters that are read one by one rather than listed.
const readSingly = 20

// confirm reads the clusters live that an application is about to leave. The cache of a hub that just became leader may
// be older than what the previous leader did: a taint that has since been removed evicts nobody, and neither does a
// cluster that was removed and has joined again. The clusters whose state ends an eviction are confirmed too, since a
// copy is then deleted: the cluster that was left, and those with the replacements. No other decision needs live reads.
// Many applications may leave a cluster that is being removed at once, but a deletion is never undone: there the
// metadata is enough to see that it is the same Cluster.
func (r *reconciler) confirm(ctx context.Context, in *scope, d *evict.Decision) error {
	for _, e := range d.Evictions {
		removed := e.Task.Producer == workv1alpha2.ProducerClusterRemoval
		live, err := r.clusterNow(ctx, e.Cluster, removed)
		if apierrors.IsNotFound(err) {
			continue // all the more reason to leave it
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

// confirmEnds confirms the clusters whose state ends evictions.
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

// confirmMany does the same with one list of all clusters.
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

// asSeen says whether the cache agrees with the live cluster in everything that the end of an eviction depends on. If
// the cluster is being removed, it only has to be the same one, or gone.
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

// behind returns the error for a stale cache, which requeues the binding.
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
