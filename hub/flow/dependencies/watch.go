package dependencies

import (
	"context"
	"maps"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/dependencies/attach"
	"fairlead.dev/hub/flow/dependencies/plan"
)

type requests = workqueue.TypedRateLimitingInterface[request]

type namespaceQueue = workqueue.TypedRateLimitingInterface[string]

// sources returns everything that triggers reconciles, apart from the dependencies themselves.
func (r *Reconciler) sources(mgr manager.Manager) []source.TypedSource[request] {
	c := mgr.GetCache()
	return []source.TypedSource[request]{
		source.TypedFunc[request](func(_ context.Context, q requests) error {
			r.kinds.wake = func(all ...request) {
				for _, req := range all {
					q.Add(req)
				}
			}
			return nil
		}),
		bindingSource(c, r, &workv1alpha2.ResourceBinding{}),
		bindingSource(c, r, &workv1alpha2.ClusterResourceBinding{}),
		rolloutSource(c, &fairleadv1alpha1.StagedRollout{}),
		rolloutSource(c, &fairleadv1alpha1.ClusterStagedRollout{}),
		kube.RulesChanged(r.interpreter, r.reread),
	}
}

// reread requests the bindings of workloads whose rules changed.
func (r *Reconciler) reread(ctx context.Context, affects func(schema.GroupVersionKind) bool, q requests) {
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		found, err := kind.List(ctx, r.hubClient)
		if err != nil {
			return // the cache is stopping
		}
		for _, b := range found {
			if concerned(b) && affects(plan.KindOf(b)) {
				q.Add(client.ObjectKeyFromObject(b))
			}
		}
	}
}

// concerned returns whether bindings are or were attached to a binding, or should be.
func concerned(b kube.Binding) bool {
	return b.BindingSpec().PropagateDeps || marked(b) || noted(b) != ""
}

// noted returns the recorded dependencies of a binding's workload.
func noted(b kube.Binding) string { return b.GetAnnotations()[contract.DependenciesAnnotation] }

// bindingSource requests a binding with dependencies when it changes, and the bindings whose dependency another writer changed.
func bindingSource[B kube.Binding](c cache.Cache, r *Reconciler, binding B) source.TypedSource[request] {
	ask := func(q requests, all []request) {
		for _, req := range all {
			q.Add(req)
		}
	}
	return source.TypedKind(c, binding, handler.TypedFuncs[B, request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[B], q requests) {
			r.wrote.Seen(client.ObjectKeyFromObject(e.Object), e.Object)
			r.departed.came(client.ObjectKeyFromObject(e.Object))
			if concerned(e.Object) || attach.Abandoned(e.Object) {
				q.Add(client.ObjectKeyFromObject(e.Object))
			}
			ask(q, bindings.Requirers(e.Object)) // a workload that is gone is detached from it
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[B], q requests) {
			ask(q, r.affected(e.ObjectOld, e.ObjectNew))
			r.originWritten(e.ObjectOld, e.ObjectNew)
			r.wrote.Seen(client.ObjectKeyFromObject(e.ObjectNew), e.ObjectNew)
			if (concerned(e.ObjectOld) || concerned(e.ObjectNew)) && e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				marked(e.ObjectOld) != marked(e.ObjectNew) || noted(e.ObjectOld) != noted(e.ObjectNew) {
				q.Add(client.ObjectKeyFromObject(e.ObjectNew))
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[B], q requests) {
			r.wrote.Gone(client.ObjectKeyFromObject(e.Object), e.Object)
			// If it was only missing when the watch restarted, its deletion was not seen, unless it was being deleted before.
			wasLeft := (!e.DeleteStateUnknown || e.Object.GetDeletionTimestamp() != nil) && r.departed.went(client.ObjectKeyFromObject(e.Object))
			if concerned(e.Object) || wasLeft {
				q.Add(client.ObjectKeyFromObject(e.Object))
			}
			ask(q, bindings.Requirers(e.Object))
			// A workload that needs it since its deletion started waits for the end of the deletion.
			ref := e.Object.BindingSpec().Resource
			ask(q, r.wants.At(plan.KindOf(e.Object), ref.Namespace, ref.Name))
		},
	})
}

// affected returns the bindings to reconcile because one of their dependencies changed. Many may need it, and each reconcile reads all
// others. A write of this stage was computed from all of them, so it affects none. Any other change that is only about single workloads
// affects only these.
func (r *Reconciler) affected(before, after kube.Binding) []request {
	if !drifted(before, after) {
		return nil
	}
	all := func() []request { return append(bindings.Requirers(before), bindings.Requirers(after)...) }
	ref := after.BindingSpec().Resource
	if !attach.Selected(after) && len(r.wants.At(plan.KindOf(after), ref.Namespace, ref.Name)) == 0 {
		return all() // no workload names it in this version any more, so another version takes over
	}
	switch {
	case r.wrote.IsLast(client.ObjectKeyFromObject(after), after):
		return nil
	case driftedForAll(before, after):
		return all()
	}
	var out []request
	was, is := attach.Notes(before), attach.Notes(after)
	for by, note := range is {
		if !note.Equal(was[by]) {
			out = append(out, by)
		}
	}
	for by := range was {
		if _, still := is[by]; !still {
			out = append(out, by)
		}
	}
	if len(out) == 0 {
		return all() // the common lists differ
	}
	return out
}

// drifted returns whether anything changed that the stage writes.
func drifted(before, after workv1alpha2.Binding) bool {
	return !apiequality.Semantic.DeepEqual(before.BindingSpec().RequiredBy, after.BindingSpec().RequiredBy) ||
		!apiequality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) || driftedForAll(before, after)
}

// driftedForAll returns whether anything changed that the stage writes and that does not belong to a single workload.
func driftedForAll(before, after workv1alpha2.Binding) bool {
	return before.BindingSpec().Resource != after.BindingSpec().Resource ||
		before.BindingSpec().ConflictResolution != after.BindingSpec().ConflictResolution ||
		!apiequality.Semantic.DeepEqual(before.BindingSpec().PreserveResourcesOnDeletion, after.BindingSpec().PreserveResourcesOnDeletion) ||
		(before.BindingSpec().Placement == nil) != (after.BindingSpec().Placement == nil) ||
		!maps.Equal(attach.OwnLabels(before), attach.OwnLabels(after)) ||
		!apiequality.Semantic.DeepEqual(before.GetFinalizers(), after.GetFinalizers())
}
