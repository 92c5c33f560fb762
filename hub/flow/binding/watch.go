package binding

import (
	"context"
	"maps"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/binding/fanout"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// bindingChanged lets through what is rendered: the spec, the permanent id and the
// wish to be deleted. Statuses are not.
func bindingChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
				e.ObjectOld.GetAnnotations()[contract.AdmittedRequestsAnnotation] != e.ObjectNew.GetAnnotations()[contract.AdmittedRequestsAnnotation] ||
				bindings.IsStaged(e.ObjectOld) != bindings.IsStaged(e.ObjectNew) ||
				!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// onWork wakes the binding that a Work names when the Work was created, changed or
// deleted by somebody else. The deletion of a Work wakes it in any case: its place may
// be needed. What was there when we started is looked at with its binding, unless there is none.
func (r *reconciler) onWork() handler.EventHandler {
	enqueue := func(w *workv1alpha1.Work, q queue) {
		if key, ok := r.bindingOf(w); ok {
			q.Add(reconcile.Request{NamespacedName: key})
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			w, ok := e.Object.(*workv1alpha1.Work)
			if !ok {
				return
			}
			ours, stray := r.expectations.observe(w, false), r.noteStray(ctx, w)
			if stray || !ours && !e.IsInInitialList {
				enqueue(w, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*workv1alpha1.Work)
			after, ok2 := e.ObjectNew.(*workv1alpha1.Work)
			if ok && ok2 && before.UID != after.UID { // deleted and made again while nobody watched
				r.stored.Forget(before.UID)
			}
			if !ok || !ok2 || !r.concernsUs(before, after) {
				return
			}
			specChanged := before.Generation != after.Generation && before.DeletionTimestamp.IsZero() == after.DeletionTimestamp.IsZero()
			r.marks.of(after) // which may say it now
			ours := r.expectations.observe(after, specChanged)
			if !ours && (specChanged || metadataChanged(before, after)) {
				r.noteStray(ctx, after)
				enqueue(before, q) // it may name none any more
				enqueue(after, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			if w, ok := e.Object.(*workv1alpha1.Work); ok {
				r.expectations.gone(w)
				r.marks.forget(fanout.Key(w))
				r.stored.Forget(w.UID)
				if key, ok := r.bindingOf(w); ok {
					r.strays.forget(key, fanout.Key(w))
				}
				enqueue(w, q)
			}
		},
	}
}

// onGone has the Works looked at that a binding left behind which is gone. One that is only missing when the watch begins anew was not seen to
// go, unless it was on its way out before: the API may have lost it, as one that was restored from a backup.
func (r *reconciler) onGone() handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			b, ok := e.Object.(kube.Binding)
			if !ok || e.DeleteStateUnknown && b.GetDeletionTimestamp().IsZero() {
				return
			}
			r.strays.gone.add(b)
			if r.noteLeft(ctx, b) {
				q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
			}
		},
	}
}

// concernsUs says whether a Work names a binding of our kind, or did so.
func (r *reconciler) concernsUs(before, after *workv1alpha1.Work) bool {
	_, did := r.bindingOf(before)
	_, does := r.bindingOf(after)
	return did || does
}

func metadataChanged(before, after *workv1alpha1.Work) bool {
	return !maps.Equal(before.Labels, after.Labels) || annotationsChanged(before.Annotations, after.Annotations) ||
		!slices.Equal(before.Finalizers, after.Finalizers) && after.DeletionTimestamp.IsZero()
}

// annotationsChanged leaves out what a Work was rendered from, as that is no reason to write it.
func annotationsChanged(before, after map[string]string) bool {
	if maps.Equal(before, after) {
		return false
	}
	before, after = maps.Clone(before), maps.Clone(after)
	delete(before, contract.RenderedFromAnnotation)
	delete(after, contract.RenderedFromAnnotation)
	return !maps.Equal(before, after)
}

// bindingOf returns the binding that a Work names, if it is of our kind. It goes by
// the name and not by the permanent id, so that a binding that was made anew learns
// when the Works of the former one are gone.
func (r *reconciler) bindingOf(w *workv1alpha1.Work) (client.ObjectKey, bool) {
	key, ok := bindings.KeyOf(w)
	return key, ok && (key.Namespace != "") == r.namespaced()
}

// clusterChanged lets through what override policies look at, and that deletions are held, which may be taken back.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*clusterv1alpha1.Cluster)
			after, ok2 := e.ObjectNew.(*clusterv1alpha1.Cluster)
			return !ok || !ok2 || clusterDiffers(before, after)
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

func clusterDiffers(before, after *clusterv1alpha1.Cluster) bool {
	return !maps.Equal(before.Labels, after.Labels) || holdsDeletions(before) != holdsDeletions(after) ||
		before.Spec.Provider != after.Spec.Provider || before.Spec.Region != after.Spec.Region ||
		before.Spec.Zone != after.Spec.Zone || !slices.Equal(before.Spec.Zones, after.Spec.Zones)
}

// onCluster has the bindings looked at again that name a cluster.
func (r *reconciler) onCluster() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			r.enqueueNaming(ctx, q, e.Object.GetName())
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			r.enqueueNaming(ctx, q, e.ObjectNew.GetName())
		},
	}
}

// namespaceChanged lets through that a namespace is there now, or another one of its name, or none, and that other clusters may be used in it than
// before.
func namespaceChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() || kube.AllowanceChanged(e.ObjectOld, e.ObjectNew)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// onNamespace has the bindings looked at again that are to be in a cluster whose execution
// namespace is there now, or is there again; and those of a namespace in which other clusters may be used, or that is another one than that which
// was being deleted.
func (r *reconciler) onNamespace() handler.EventHandler {
	within := func(ctx context.Context, namespace string, q queue) {
		if r.namespaced() {
			found, err := r.kind.List(ctx, r.hubClient, client.InNamespace(namespace))
			enqueueThose(ctx, q, found, err, func(kube.Binding) bool { return true })
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if cluster, ok := contract.ClusterOf(r.prefix, e.Object.GetName()); ok {
				r.enqueueNaming(ctx, q, cluster)
			} else {
				within(ctx, e.Object.GetName(), q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { within(ctx, e.ObjectNew.GetName(), q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { r.bounded.forget(e.Object.GetName()) },
	}
}

// rolloutChanged lets through what says which content clusters get.
func rolloutChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(fairleadv1alpha1.Rollout)
			after, ok2 := e.ObjectNew.(fairleadv1alpha1.Rollout)
			if !ok || !ok2 {
				return true
			}
			old, now := before.RolloutStatus(), after.RolloutStatus()
			return old.Stable != now.Stable || !apiequality.Semantic.DeepEqual(old.Revisions, now.Revisions) ||
				!apiequality.Semantic.DeepEqual(old.Clusters, now.Clusters)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// onRollout has the binding looked at again whose rollout it is, and those of what its workload needs.
func (r *reconciler) onRollout() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		var out []reconcile.Request
		if key := client.ObjectKeyFromObject(obj); (key.Namespace != "") == r.namespaced() {
			out = append(out, reconcile.Request{NamespacedName: key})
		}
		return append(out, r.neededBy(ctx, obj)...)
	})
}

// stagedChanged lets through that a binding goes by a strategy now, or does not any more.
func stagedChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return bindings.IsStaged(e.ObjectOld) != bindings.IsStaged(e.ObjectNew)
		},
		DeleteFunc:  func(e event.DeleteEvent) bool { return bindings.IsStaged(e.Object) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// onStaged has the bindings looked at again of what the workload of a binding needs.
func (r *reconciler) onStaged() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(r.neededBy)
}

// neededBy returns the bindings of what the workload of a binding, whose name obj has, needs.
func (r *reconciler) neededBy(ctx context.Context, obj client.Object) []reconcile.Request {
	found, err := r.kind.NeededBy(ctx, r.hubClient, client.ObjectKeyFromObject(obj))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Looking for the bindings that follow a rollout")
		return nil
	}
	var out []reconcile.Request
	for _, b := range found {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
	}
	return out
}

// rulesChanged has the bindings looked at again whose templates mean something else now.
func (r *reconciler) rulesChanged(ctx context.Context, affects func(schema.GroupVersionKind) bool, q queue) {
	r.enqueue(ctx, q, func(b kube.Binding) bool {
		ref := &b.BindingSpec().Resource
		return affects(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	})
}

// enqueue has bindings looked at again, behind those that somebody changed.
func (r *reconciler) enqueue(ctx context.Context, q queue, which func(kube.Binding) bool) {
	found, err := r.kind.List(ctx, r.hubClient)
	enqueueThose(ctx, q, found, err, which)
}

// enqueueNaming does so with the bindings that name a cluster. Of almost all it is a target, which is not looked for: that takes long in
// one that is in thousands.
func (r *reconciler) enqueueNaming(ctx context.Context, q queue, cluster string) {
	found, err := r.kind.Naming(ctx, r.hubClient, cluster)
	enqueueThose(ctx, q, found, err, func(kube.Binding) bool { return true })
}

func enqueueThose(ctx context.Context, q queue, found []kube.Binding, err error, which func(kube.Binding) bool) {
	if err != nil {
		// The cache answers once it has started, and this is called after that.
		ctrl.LoggerFrom(ctx).Error(err, "Looking for the bindings that a change concerns")
		return
	}
	kube.EnqueueBindings(q, found, which)
}
