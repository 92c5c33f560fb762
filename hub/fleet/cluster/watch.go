package cluster

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// register sets up the watches: Clusters, their leases and lines, ClusterTaintPolicies, and execution namespaces that are created or deleted.
func (r *Reconciler) register(mgr manager.Manager, workers int) error {
	err := kube.NewController(mgr, "cluster", workers).
		For(&clusterv1alpha1.Cluster{}).
		Watches(&coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(clusterOfLease), builder.WithPredicates(agentLeases())).
		Watches(&policyv1alpha1.ClusterTaintPolicy{}, handler.EnqueueRequestsFromMapFunc(r.allClusters), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.clusterOfNamespace), builder.WithPredicates(createdOrDeleted())).
		WatchesRawSource(source.TypedFunc[ctrl.Request](r.lines.follow)).
		WatchesRawSource(source.TypedFunc[ctrl.Request](r.watchdog.start)).
		Complete(kube.QuietConflicts(r))
	if err != nil {
		return fmt.Errorf("registering the cluster stage: %w", err)
	}
	return nil
}

func clusterOfLease(_ context.Context, lease client.Object) []ctrl.Request {
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: lease.GetName()}}}
}

// allClusters returns requests for all Clusters, including those that a changed policy no longer selects.
func (r *Reconciler) allClusters(ctx context.Context, _ client.Object) []ctrl.Request {
	clusters, err := kube.Clusters(ctx, r.hubClient)
	if err != nil {
		// The cache has synced before handlers run, so this does not happen.
		ctrl.LoggerFrom(ctx).Error(err, "Looking for clusters after a ClusterTaintPolicy changed")
		return nil
	}
	out := make([]ctrl.Request, len(clusters))
	for i, c := range clusters {
		out[i].Name = c.Name
	}
	return out
}

func (r *Reconciler) clusterOfNamespace(_ context.Context, namespace client.Object) []ctrl.Request {
	cluster, ok := contract.ClusterOf(r.prefix, namespace.GetName())
	if !ok {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: cluster}}}
}

// agentLeases drops the leases that are not those of agents.
func agentLeases() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(lease client.Object) bool {
		return lease.GetNamespace() == contract.ClusterNamespace
	})
}

func createdOrDeleted() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() && !e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}
