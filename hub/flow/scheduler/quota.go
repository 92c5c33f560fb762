package scheduler

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/hints"
)

// quotasOf returns the quotas of a namespace; none for an empty name.
func (r *reconciler) quotasOf(ctx context.Context, namespace string) ([]policyv1alpha1.FederatedResourceQuota, error) {
	if namespace == "" {
		return nil, nil
	}
	var list policyv1alpha1.FederatedResourceQuotaList
	if err := r.hubClient.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the quotas of %q: %w", namespace, err)
	}
	return list.Items, nil
}

// quotas enqueues the bindings that wait for a quota when a quota of their namespace changes, and all bindings of the namespace when one is
// created or deleted, since their requests then need admission, or need it no more.
func (r *reconciler) quotas() handler.EventHandler {
	wake := func(ctx context.Context, changed client.Object, q requests, all bool) {
		bindings, err := r.kind.List(ctx, r.hubClient, client.InNamespace(changed.GetNamespace()))
		if err != nil {
			// Not expected: handlers run after the cache has started.
			ctrl.LoggerFrom(ctx).Error(err, "Looking for bindings after a FederatedResourceQuota changed")
			return
		}
		for _, b := range bindings {
			if hints.Responsible(b) && (all || hints.StateOf(b).Waits == workv1alpha2.ReasonQuotaExceeded) {
				enqueue(q, true, b)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) {
			if !e.IsInInitialList { // every binding is reconciled after a start
				wake(ctx, e.Object, q, true)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			// A quota that is being deleted limits nothing any more.
			wake(ctx, e.ObjectNew, q, !e.ObjectNew.GetDeletionTimestamp().IsZero())
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) { wake(ctx, e.Object, q, true) },
	}
}
