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

// definitions has those bindings of a custom kind looked at again that have no cluster, when its definition goes to more clusters: one that
// was decided on before that was seen waits for them. Those that have clusters wait until another one tells that it serves the kind: a
// definition that leaves a cluster is there for as long as objects of its kind are, and a cluster that has not told of it yet is not left for that.
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

// wakeDefined does so for the kind that a template defines, if that goes to clusters that it did not go to before.
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
