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

// overrideChanged lets through override policies whose spec is news.
func overrideChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc:  func(e event.UpdateEvent) bool { return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// onOverride has the bindings looked at again whose templates an override policy may
// be about, as it was and as it is. It does not look at labels, which bindings do not have: rendering does.
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
