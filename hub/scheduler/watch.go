package scheduler

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/kube"
)

// bindingChanged lets through what can change a decision: the spec, and the labels,
// which say whose the binding is. Statuses, our own among them, do not.
func bindingChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// clusterChanged lets through what filters look at. Clusters that were there when we
// started are not news: every binding is looked at then.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*clusterv1alpha1.Cluster)
			after, ok2 := e.ObjectNew.(*clusterv1alpha1.Cluster)
			return !ok || !ok2 || clusterDiffers(before, after)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

func clusterDiffers(before, after *clusterv1alpha1.Cluster) bool {
	return before.Generation != after.Generation ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		!maps.Equal(before.Labels, after.Labels) ||
		!equality.Semantic.DeepEqual(before.Status.APIEnablements, after.Status.APIEnablements)
}

// enqueueAll has every binding looked at again, behind those that somebody changed.
// Which of them a cluster matters to is for the decision to say; it is cheap, and
// writes nothing if nothing changes.
func (r *reconciler) enqueueAll() handler.EventHandler {
	enqueue := func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		bindings, err := r.kind.List(ctx, r.hubClient)
		if err != nil {
			// The cache answers once it has started, and this is called after that.
			ctrl.LoggerFrom(ctx).Error(err, "Looking for bindings after a Cluster changed")
			return
		}
		requests := make([]reconcile.Request, 0, len(bindings))
		for _, b := range bindings {
			if ours(b) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
			}
		}
		kube.EnqueueLast(queue, requests...)
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, _ event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, q)
		},
		UpdateFunc: func(ctx context.Context, _ event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, q)
		},
		DeleteFunc: func(ctx context.Context, _ event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, q)
		},
	}
}
