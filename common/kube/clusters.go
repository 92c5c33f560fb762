package kube

import (
	"context"
	"fmt"
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// Clusters returns the Clusters of a hub. They must not be changed: a cache returns shared objects.
func Clusters(ctx context.Context, r client.Reader) ([]*clusterv1alpha1.Cluster, error) {
	var list clusterv1alpha1.ClusterList
	out, err := listShared(ctx, r, &list, &list.Items, func(one *clusterv1alpha1.Cluster) *clusterv1alpha1.Cluster { return one })
	if err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	return out, nil
}

// ClustersVersion returns a text that stays the same while the Clusters in the reader's cache do, in constant time
// however large the fleet is. It returns false if the reader has no cache, or the cache has not synced.
func ClustersVersion(ctx context.Context, r client.Reader) (version string, ok bool) {
	store, ok := filledStore(ctx, r, &clusterv1alpha1.Cluster{})
	if !ok {
		return "", false
	}
	version = store.LastStoreSyncResourceVersion()
	return version, version != ""
}

// ClustersNamed returns the Clusters with these names, as far as they exist; they must not be changed. From a cache
// this takes time in proportion to the number of names, not to the size of the fleet.
func ClustersNamed(ctx context.Context, r client.Reader, names iter.Seq[string]) (map[string]*clusterv1alpha1.Cluster, error) {
	out, look := map[string]*clusterv1alpha1.Cluster{}, ClusterLookup(ctx, r)
	for name := range names {
		c, err := look(name)
		if err != nil {
			return nil, err
		}
		if c != nil {
			out[name] = c
		}
	}
	return out, nil
}

// ClusterLookup returns a function that reads Clusters by name: nil if there is none. They must not be changed. See
// ClustersNamed for the cost.
func ClusterLookup(ctx context.Context, r client.Reader) func(name string) (*clusterv1alpha1.Cluster, error) {
	if store, ok := filledStore(ctx, r, &clusterv1alpha1.Cluster{}); ok {
		return func(name string) (*clusterv1alpha1.Cluster, error) {
			found, _, err := store.GetByKey(name)
			c, _ := found.(*clusterv1alpha1.Cluster)
			if err != nil {
				err = fmt.Errorf("reading cluster %q: %w", name, err)
			}
			return c, err
		}
	}
	return func(name string) (*clusterv1alpha1.Cluster, error) {
		c := &clusterv1alpha1.Cluster{}
		err := r.Get(ctx, client.ObjectKey{Name: name}, c, client.UnsafeDisableDeepCopy)
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil //nolint:nilnil // that there is none is an answer
		case err != nil:
			return nil, fmt.Errorf("reading cluster %q: %w", name, err)
		}
		return c, nil
	}
}

// ClusterLeaves reads live whether a cluster is leaving or has left the fleet. Call it before deleting objects in a
// member: the objects of a leaving member stay, and the cache may not show yet that it leaves.
func ClusterLeaves(ctx context.Context, live client.Reader, name string) (bool, error) {
	cluster, err := ClusterNow(ctx, live, name)
	if err != nil {
		return false, fmt.Errorf("looking before anything is taken from a member: %w", err)
	}
	return cluster == nil || !cluster.DeletionTimestamp.IsZero() || isRetired(cluster), nil
}

// ClusterNow reads the metadata of a Cluster live; nil if it does not exist.
func ClusterNow(ctx context.Context, live client.Reader, name string) (*metav1.PartialObjectMetadata, error) {
	cluster := MetadataOf(clusterv1alpha1.GroupVersion.WithKind(clusterv1alpha1.KindCluster))
	err := live.Get(ctx, client.ObjectKey{Name: name}, cluster)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // that there is none is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("reading cluster %q as it is: %w", name, err)
	}
	return cluster, nil
}

// ConfirmCluster reads a Cluster live before objects are deleted in a member because it leaves, or sent there because
// it does not. Since the cache saw the Cluster, it may have been deleted, or its member may have joined again.
// ConfirmCluster returns CacheBehind unless the live Cluster has the same UID and the same join, and is deleted or
// retired exactly if the cached one is.
func ConfirmCluster(ctx context.Context, live client.Reader, saw *clusterv1alpha1.Cluster) error {
	is, err := ClusterNow(ctx, live, saw.Name)
	if err != nil {
		return err
	}
	if is == nil || is.UID != saw.UID || is.DeletionTimestamp.IsZero() != saw.DeletionTimestamp.IsZero() || isRetired(is) != isRetired(saw) ||
		is.Annotations[contract.JoinedAnnotation] != saw.Annotations[contract.JoinedAnnotation] {
		return CacheBehind(clusterv1alpha1.GroupVersion.WithResource("clusters").GroupResource(), saw.Name)
	}
	return nil
}

func isRetired(cluster metav1.Object) bool {
	return cluster.GetAnnotations()[contract.RetiredAnnotation] != ""
}
