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

// quotasOf returns the quotas of a namespace; none if it has no name.
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

// quotas has the bindings looked at again that wait for a quota, when it changes; and all of the namespace when it comes
// or goes, since what they request is admitted from then on, or need not be.
func (r *reconciler) quotas() handler.EventHandler {
	wake := func(ctx context.Context, changed client.Object, q requests, all bool) {
		bindings, err := r.kind.List(ctx, r.hubClient, client.InNamespace(changed.GetNamespace()))
		if err != nil {
			// The cache answers once it has started, and this is called after that.
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
			if !e.IsInInitialList { // all are looked at anyway
				wake(ctx, e.Object, q, true)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			// One that waits to be deleted bounds nothing any more.
			wake(ctx, e.ObjectNew, q, !e.ObjectNew.GetDeletionTimestamp().IsZero())
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) { wake(ctx, e.Object, q, true) },
	}
}
