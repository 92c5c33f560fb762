package binding

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"fairlead.dev/common/kube"
)

// overrideChanged selects the events of override policies whose spec is new or changed.
func overrideChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc:  func(e event.UpdateEvent) bool { return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// onOverride requests the bindings whose templates an override policy may apply to, as it was or as it is. It ignores labels, which
// bindings do not have; rendering checks them.
func (r *reconciler) onOverride() handler.EventHandler {
	enqueue := func(ctx context.Context, q queue, policies ...client.Object) {
		r.enqueue(ctx, q, func(b kube.Binding) bool {
			return slices.ContainsFunc(policies, func(p client.Object) bool { return kube.IsAbout(p, &b.BindingSpec().Resource) })
		})
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { enqueue(ctx, q, e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, q, e.Object) },
	}
}
