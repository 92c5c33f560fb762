package binding

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
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
// be about, as it was and as it is.
func (r *reconciler) onOverride() handler.EventHandler {
	enqueue := func(ctx context.Context, q queue, policies ...client.Object) {
		r.enqueue(ctx, q, func(b kube.Binding) bool {
			return slices.ContainsFunc(policies, func(p client.Object) bool { return concerns(p, b) })
		})
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { enqueue(ctx, q, e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, q, e.Object) },
	}
}

// concerns says whether an override policy may be about the template of a binding. It
// does not look at labels, which the binding does not have: rendering does.
func concerns(policy client.Object, b kube.Binding) bool {
	var selectors []policyv1alpha1.ResourceSelector
	switch p := policy.(type) {
	case *policyv1alpha1.OverridePolicy:
		if p.Namespace != b.GetNamespace() {
			return false
		}
		selectors = p.Spec.ResourceSelectors
	case *policyv1alpha1.ClusterOverridePolicy:
		selectors = p.Spec.ResourceSelectors
	default:
		return false
	}
	ref := &b.BindingSpec().Resource
	return len(selectors) == 0 || slices.ContainsFunc(selectors, func(s policyv1alpha1.ResourceSelector) bool {
		return s.APIVersion == ref.APIVersion && s.Kind == ref.Kind &&
			(s.Namespace == "" || s.Namespace == ref.Namespace) && (s.Name == "" || s.Name == ref.Name)
	})
}
