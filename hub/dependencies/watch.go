package dependencies

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
)

// requiredByIndex finds the bindings that a binding needs.
const requiredByIndex = "dependencies-required-by"

type requests = workqueue.TypedRateLimitingInterface[request]

type namespaceQueue = workqueue.TypedRateLimitingInterface[string]

// sources are what wakes the stage, apart from the objects that workloads need.
func (r *Reconciler) sources(mgr manager.Manager) []source.TypedSource[request] {
	c := mgr.GetCache()
	return []source.TypedSource[request]{
		source.TypedFunc[request](func(ctx context.Context, q requests) error {
			r.kinds.wake = func(all ...request) {
				for _, req := range all {
					q.Add(req)
				}
			}
			return addIndexes(ctx, mgr.GetFieldIndexer())
		}),
		bindingSource(c, r, &workv1alpha2.ResourceBinding{}),
		bindingSource(c, r, &workv1alpha2.ClusterResourceBinding{}),
	}
}

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, obj := range []client.Object{&workv1alpha2.ResourceBinding{}, &workv1alpha2.ClusterResourceBinding{}} {
		if err := indexer.IndexField(ctx, obj, requiredByIndex, func(obj client.Object) []string {
			b, ok := obj.(workv1alpha2.Binding)
			if !ok {
				return nil
			}
			var keys []string
			for _, req := range referring(b) {
				keys = append(keys, req.String())
			}
			return keys
		}); err != nil {
			return fmt.Errorf("indexing %T by %q: %w", obj, requiredByIndex, err)
		}
	}
	return nil
}

// referring names the bindings that need a binding.
func referring(b workv1alpha2.Binding) []request {
	var out []request
	for _, s := range b.BindingSpec().RequiredBy {
		if s.Name == "" {
			continue // all that is in a namespace
		}
		out = append(out, types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
	}
	return out
}

// concerned says whether others follow a binding, or did.
func concerned(b kube.Binding) bool { return b.BindingSpec().PropagateDeps || marked(b) }

// bindingSource asks for a binding whose workload lets others follow, and for those that
// need one which somebody else changed.
func bindingSource[B kube.Binding](c cache.Cache, r *Reconciler, binding B) source.TypedSource[request] {
	ask := func(q requests, all []request) {
		for _, req := range all {
			q.Add(req)
		}
	}
	return source.TypedKind(c, binding, handler.TypedFuncs[B, request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[B], q requests) {
			r.wrote.Seen(client.ObjectKeyFromObject(e.Object), e.Object)
			if concerned(e.Object) {
				q.Add(client.ObjectKeyFromObject(e.Object))
			}
			ask(q, referring(e.Object)) // one that is gone lets go of it
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[B], q requests) {
			r.wrote.Seen(client.ObjectKeyFromObject(e.ObjectNew), e.ObjectNew)
			if (concerned(e.ObjectOld) || concerned(e.ObjectNew)) && e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				marked(e.ObjectOld) != marked(e.ObjectNew) {
				q.Add(client.ObjectKeyFromObject(e.ObjectNew))
			}
			if drifted(e.ObjectOld, e.ObjectNew) {
				ask(q, referring(e.ObjectOld))
				ask(q, referring(e.ObjectNew))
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[B], q requests) {
			r.wrote.Gone(client.ObjectKeyFromObject(e.Object), e.Object)
			if concerned(e.Object) {
				q.Add(client.ObjectKeyFromObject(e.Object))
			}
			ask(q, referring(e.Object))
		},
	})
}

// drifted says whether something changed that the stage writes.
func drifted(before, after workv1alpha2.Binding) bool {
	return !apiequality.Semantic.DeepEqual(before.BindingSpec().RequiredBy, after.BindingSpec().RequiredBy) ||
		before.BindingSpec().Resource != after.BindingSpec().Resource ||
		before.BindingSpec().ConflictResolution != after.BindingSpec().ConflictResolution ||
		(before.BindingSpec().Placement == nil) != (after.BindingSpec().Placement == nil) ||
		!apiequality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) ||
		!apiequality.Semantic.DeepEqual(before.GetFinalizers(), after.GetFinalizers())
}
