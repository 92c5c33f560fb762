package rollout

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
)

// isTerminating says whether the namespace of a binding is being deleted, or is gone. Its rollout and the revisions go with it, in any
// order, the API takes no others there, and the binding stage writes no other content into its Works: nothing is decided any more.
func (r *reconciler) isTerminating(ctx context.Context, b kube.Binding) (bool, error) {
	if b.GetNamespace() == "" {
		return false, nil
	}
	ns, err := kube.NamespaceNamed(ctx, r.hubClient, r.hubReader, b.GetNamespace())
	if err != nil {
		return false, err
	}
	return ns == nil || !ns.DeletionTimestamp.IsZero(), nil
}

// onNamespace asks for the bindings of a namespace that was made anew: they may have been looked at while the cache showed the one before,
// which was being deleted.
func (r *reconciler) onNamespace() handler.EventHandler {
	ask := func(ctx context.Context, ns client.Object, q queue) {
		found, err := r.kind.List(ctx, r.hubClient, client.InNamespace(ns.GetName()))
		if err != nil {
			return // the cache is stopping
		}
		kube.EnqueueBindings(q, found, func(b kube.Binding) bool { return bindings.IsStaged(b) })
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList {
				ask(ctx, e.Object, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if e.ObjectOld.GetUID() != e.ObjectNew.GetUID() {
				ask(ctx, e.ObjectNew, q)
			}
		},
	}
}
