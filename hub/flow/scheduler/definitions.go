package scheduler

import (
	"context"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
)

// definitions enqueues the bindings of a custom kind that have no cluster when the definition of the kind is propagated to more clusters:
// they may have been decided on before. Bindings that have clusters are enqueued when another cluster reports that it serves the kind. They
// lose none by a change of the definition's clusters: a definition stays in a cluster as long as objects of its kind do, and an
// application does not leave a cluster that has not reported the kind yet.
func (r *reconciler) definitions() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) {
			if definition, ok := e.Object.(*workv1alpha2.ClusterResourceBinding); ok && !e.IsInInitialList {
				r.wakeDefined(ctx, nil, &definition.Spec, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			before, ok := e.ObjectOld.(*workv1alpha2.ClusterResourceBinding)
			after, ok2 := e.ObjectNew.(*workv1alpha2.ClusterResourceBinding)
			if ok && ok2 && before.Generation != after.Generation {
				r.wakeDefined(ctx, before.Spec.Clusters, &after.Spec, q)
			}
		},
	}
}

// wakeDefined enqueues the bindings without a cluster of the kinds that a template defines, if the template has new clusters.
func (r *reconciler) wakeDefined(ctx context.Context, before []workv1alpha2.TargetCluster, definition *workv1alpha2.ResourceBindingSpec, q requests) {
	there := make(map[string]bool, len(before))
	for i := range before {
		there[before[i].Name] = true
	}
	if !slices.ContainsFunc(definition.Clusters, func(t workv1alpha2.TargetCluster) bool { return !there[t.Name] }) {
		return
	}
	kinds, err := kube.KindsDefinedBy(r.hubClient.RESTMapper(), &definition.Resource)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Looking for bindings of a kind whose definition goes to more clusters", "definition", definition.Resource.Name)
	}
	for kind := range kinds {
		defined, err := r.kind.OfKind(ctx, r.hubClient, kind)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Looking for bindings of a kind whose definition goes to more clusters", "kind", kind)
		}
		for _, b := range defined {
			if len(b.BindingSpec().Clusters) == 0 {
				enqueue(q, true, b)
			}
		}
	}
}
