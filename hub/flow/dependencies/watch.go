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

// sources are what wakes the stage, apart from the objects that workloads need.
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

// reread asks for the bindings of workloads whose rules changed.
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

// concerned says whether others follow a binding, or did, or it says so.
func concerned(b kube.Binding) bool {
	return b.BindingSpec().PropagateDeps || marked(b) || noted(b) != ""
}

// noted is what a binding says that its workload needs.
func noted(b kube.Binding) string { return b.GetAnnotations()[contract.DependenciesAnnotation] }

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
			r.departed.came(client.ObjectKeyFromObject(e.Object))
			if concerned(e.Object) || attach.Abandoned(e.Object) {
				q.Add(client.ObjectKeyFromObject(e.Object))
			}
			ask(q, bindings.Requirers(e.Object)) // one that is gone lets go of it
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
			// One that is only missing when the watch begins anew was not seen to go, unless it was on its way out before.
			wasLeft := (!e.DeleteStateUnknown || e.Object.GetDeletionTimestamp() != nil) && r.departed.went(client.ObjectKeyFromObject(e.Object))
			if concerned(e.Object) || wasLeft {
				q.Add(client.ObjectKeyFromObject(e.Object))
			}
			ask(q, bindings.Requirers(e.Object))
			// Who came to need it while it was going waits for its end.
			ref := e.Object.BindingSpec().Resource
			ask(q, r.wants.At(plan.KindOf(e.Object), ref.Namespace, ref.Name))
		},
	})
}

// affected returns the bindings that are to look again at one that they need, since it changed: many may need it, and each
// look takes one at all others. What the stage wrote itself was computed from all of them, so that none has to look again;
// and of what else is written about single ones only those have to.
func (r *Reconciler) affected(before, after kube.Binding) []request {
	if !drifted(before, after) {
		return nil
	}
	all := func() []request { return append(bindings.Requirers(before), bindings.Requirers(after)...) }
	ref := after.BindingSpec().Resource
	if !attach.Selected(after) && len(r.wants.At(plan.KindOf(after), ref.Namespace, ref.Name)) == 0 {
		return all() // who named it in this version does not any more, and another one takes its own
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
		return all() // it is what several have alike that differs
	}
	return out
}

// drifted says whether something changed that the stage writes.
func drifted(before, after workv1alpha2.Binding) bool {
	return !apiequality.Semantic.DeepEqual(before.BindingSpec().RequiredBy, after.BindingSpec().RequiredBy) ||
		!apiequality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) || driftedForAll(before, after)
}

// driftedForAll says whether something changed that the stage writes and that is no single workload's.
func driftedForAll(before, after workv1alpha2.Binding) bool {
	return before.BindingSpec().Resource != after.BindingSpec().Resource ||
		before.BindingSpec().ConflictResolution != after.BindingSpec().ConflictResolution ||
		!apiequality.Semantic.DeepEqual(before.BindingSpec().PreserveResourcesOnDeletion, after.BindingSpec().PreserveResourcesOnDeletion) ||
		(before.BindingSpec().Placement == nil) != (after.BindingSpec().Placement == nil) ||
		!maps.Equal(attach.OwnLabels(before), attach.OwnLabels(after)) ||
		!apiequality.Semantic.DeepEqual(before.GetFinalizers(), after.GetFinalizers())
}
