package scheduler

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/quota"
	"fairlead.dev/hub/scheduler/queue"
)

// quotasOf returns the quotas of the namespace of a binding, with what other bindings use.
func (r *reconciler) quotasOf(ctx context.Context, b kube.Binding) ([]quota.Quota, error) {
	if b.GetNamespace() == "" {
		return nil, nil
	}
	var list policyv1alpha1.FederatedResourceQuotaList
	if err := r.hubClient.List(ctx, &list, client.InNamespace(b.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the quotas of %q: %w", b.GetNamespace(), err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	bindings, err := r.kind.List(ctx, r.hubClient, client.InNamespace(b.GetNamespace()))
	if err != nil {
		return nil, fmt.Errorf("listing the bindings that share the quotas of %q: %w", b.GetNamespace(), err)
	}
	others := corev1.ResourceList{}
	for _, other := range bindings {
		if other.GetName() != b.GetName() {
			quota.Add(others, quota.Usage(other.BindingSpec(), r.targets(other)))
		}
	}
	return quota.For(list.Items, others), nil
}

// quotas has the bindings looked at again that wait for a quota, when it changes or goes.
func (r *reconciler) quotas() handler.EventHandler {
	wake := func(ctx context.Context, changed client.Object, q requests) {
		bindings, err := r.kind.List(ctx, r.hubClient, client.InNamespace(changed.GetNamespace()))
		if err != nil {
			// The cache answers once it has started, and this is called after that.
			ctrl.LoggerFrom(ctx).Error(err, "Looking for bindings after a FederatedResourceQuota changed")
			return
		}
		for _, b := range bindings {
			if queue.Ours(b) && queue.StandingOf(b).Waits == workv1alpha2.ReasonQuotaExceeded {
				enqueue(q, true, b)
			}
		}
	}
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) { wake(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) { wake(ctx, e.Object, q) },
	}
}
