package dependencies

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
)

// mostDropped is how many clusters are dropped from the list of one binding at a time, since each is read live. They are more than
// are added to it at a time, but for those that leave together, and a list that is longer becomes shorter with each look.
const mostDropped = 16

// dropGone takes the clusters that are gone from the fleet off the list of those where the object of a binding stays. A fleet that replaces
// its clusters by others of new names would have the list grow until the binding cannot be written any more, and in a later cluster
// of the same name the object would stay that never was with a workload left behind there.
//
// A cluster is gone if neither the cache of Clusters, which has all of them before any worker runs, nor a live read has it: the cache
// of a hub that has just begun may be older than the Cluster, and what is dropped wrongly has the object deleted in a member. Of a
// cluster that is gone nothing is deleted, whatever the list says: it has no Work any more, and were there one, it would go with
// what it brought left in the member, as with each cluster that left.
func (r *Reconciler) dropGone(ctx context.Context, b kube.Binding) error {
	spec := b.BindingSpec()
	gone := sets.Set[string]{}
	for _, name := range spec.PreservedIn {
		if gone.Len() == mostDropped {
			break
		}
		isGone, err := r.clusterGone(ctx, name)
		if err != nil {
			return fmt.Errorf("looking whether the object of binding %q is still to stay in cluster %q: %w", b.GetName(), name, err)
		}
		if isGone {
			gone.Insert(name)
		}
	}
	if gone.Len() > 0 {
		spec.PreservedIn = slices.DeleteFunc(slices.Clone(spec.PreservedIn), gone.Has)
	}
	return nil
}

// clusterGone says whether there is no Cluster of a name, as the cache has it, and then as a live read does.
func (r *Reconciler) clusterGone(ctx context.Context, name string) (bool, error) {
	key := client.ObjectKey{Name: name}
	err := r.hubClient.Get(ctx, key, &clusterv1alpha1.Cluster{}, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		err = r.liveReader.Get(ctx, key, kube.MetadataOf(clusterv1alpha1.GroupVersion.WithKind(clusterv1alpha1.KindCluster)))
	}
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}

// goneClusters asks for the bindings of the workloads that need what was to stay in a cluster that is gone.
func goneClusters(c cache.Cache, r *Reconciler) source.TypedSource[request] {
	return source.TypedKind(c, &clusterv1alpha1.Cluster{}, handler.TypedFuncs[*clusterv1alpha1.Cluster, request]{
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*clusterv1alpha1.Cluster], q requests) {
			for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
				found, err := kind.List(ctx, r.hubClient)
				if err != nil {
					// The cache answers once it has started, and this is called after that.
					ctrl.LoggerFrom(ctx).Error(err, "Looking for what was to stay in a cluster that is gone")
					return
				}
				for _, b := range found {
					if slices.Contains(b.BindingSpec().PreservedIn, e.Object.Name) {
						for _, req := range bindings.Requirers(b) {
							q.Add(req)
						}
					}
				}
			}
		},
	})
}
