package remedy

import (
	"context"
	"maps"
	"slices"

	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	remedyv1alpha1 "fairlead.dev/common/api/remedy/v1alpha1"
	"fairlead.dev/common/kube"
)

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// conditionChanged passes changes of what Remedies match on, and changes of the remedy actions by others.
func conditionChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*clusterv1alpha1.Cluster)
			after, ok2 := e.ObjectNew.(*clusterv1alpha1.Cluster)
			return ok && ok2 && (!slices.Equal(before.Status.RemedyActions, after.Status.RemedyActions) ||
				!maps.Equal(statuses(before), statuses(after)))
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// statuses returns the status of each condition of a cluster, by type.
func statuses(c *clusterv1alpha1.Cluster) map[string]string {
	out := make(map[string]string, len(c.Status.Conditions))
	for i := range c.Status.Conditions {
		out[c.Status.Conditions[i].Type] = string(c.Status.Conditions[i].Status)
	}
	return out
}

// onRemedy enqueues the clusters that a Remedy selects, before and after the change. Remedies of the initial list are
// skipped: every Cluster is reconciled at the start anyway.
func (r *Reconciler) onRemedy() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) {
			if !e.IsInInitialList {
				r.ask(ctx, q, e.Object)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) { r.ask(ctx, q, e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) { r.ask(ctx, q, e.Object) },
	}
}

func (r *Reconciler) ask(ctx context.Context, q requests, remedies ...client.Object) {
	clusters, err := kube.Clusters(ctx, r.hubClient)
	if err != nil {
		// The cache has synced before handlers run, so this does not happen.
		ctrl.LoggerFrom(ctx).Error(err, "Looking for the Clusters that a Remedy is for")
		return
	}
	for _, c := range clusters {
		if slices.ContainsFunc(remedies, func(obj client.Object) bool {
			remedy, ok := obj.(*remedyv1alpha1.Remedy)
			return ok && selects(&remedy.Spec, c.Name)
		}) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKey{Name: c.Name}})
		}
	}
}
