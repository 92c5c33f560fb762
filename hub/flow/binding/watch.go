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

// bindingChanged selects changes of what is rendered: the spec, the permanent id, relevant annotations and the deletion, but not the
// status.
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

// onWork requests the binding that a Work names when another writer created, changed or deleted the Work. A deletion always requests it,
// since the Work's name may be needed. Works that exist at the start are handled with their bindings, unless they have none.
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
			if ok && ok2 && before.UID != after.UID { // deleted and created again while the watch was interrupted
				r.stored.Forget(before.UID)
			}
			if !ok || !ok2 || !r.concernsUs(before, after) {
				return
			}
			specChanged := before.Generation != after.Generation && before.DeletionTimestamp.IsZero() == after.DeletionTimestamp.IsZero()
			r.marks.of(after) // drops a remembered mark that the Work has by now
			ours := r.expectations.observe(after, specChanged)
			if !ours && (specChanged || metadataChanged(before, after)) {
				r.noteStray(ctx, after)
				enqueue(before, q) // the Work may not name it any more
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

// onGone requests a binding that was deleted and left Works behind. A binding that was only missing when the watch restarted was not seen
// to be deleted, unless it was being deleted before: the API server may have lost it, as after a restore from a backup.
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

// concernsUs returns whether a Work names a binding of this kind, or did so.
func (r *reconciler) concernsUs(before, after *workv1alpha1.Work) bool {
	_, did := r.bindingOf(before)
	_, does := r.bindingOf(after)
	return did || does
}

func metadataChanged(before, after *workv1alpha1.Work) bool {
	return !maps.Equal(before.Labels, after.Labels) || annotationsChanged(before.Annotations, after.Annotations) ||
		!slices.Equal(before.Finalizers, after.Finalizers) && after.DeletionTimestamp.IsZero()
}

// annotationsChanged ignores the mark of what a Work was rendered from, which is no reason to write it.
func annotationsChanged(before, after map[string]string) bool {
	if maps.Equal(before, after) {
		return false
	}
	before, after = maps.Clone(before), maps.Clone(after)
	delete(before, contract.RenderedFromAnnotation)
	delete(after, contract.RenderedFromAnnotation)
	return !maps.Equal(before, after)
}

// bindingOf returns the binding that a Work names, if it is of this kind. It uses the name and not the permanent id, so that a binding that
// was created again is reconciled when the Works of the former one are gone.
func (r *reconciler) bindingOf(w *workv1alpha1.Work) (client.ObjectKey, bool) {
	key, ok := bindings.KeyOf(w)
	return key, ok && (key.Namespace != "") == r.namespaced()
}

// clusterChanged selects changes of what override policies select by, and of the holding of deletions, which may be withdrawn.
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

// onCluster requests the bindings that name a cluster.
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

// namespaceChanged selects the creation, replacement and deletion of namespaces, and changes of the clusters that they allow.
func namespaceChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() || kube.AllowanceChanged(e.ObjectOld, e.ObjectNew)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// onNamespace requests the bindings for a cluster whose execution namespace was created; and the bindings in a namespace that allows other
// clusters now, or that replaces one that was being deleted.
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

// rolloutChanged selects changes of what determines the content of clusters.
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

// onRollout requests the binding of a rollout, and those of its workload's dependencies.
func (r *reconciler) onRollout() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		var out []reconcile.Request
		if key := client.ObjectKeyFromObject(obj); (key.Namespace != "") == r.namespaced() {
			out = append(out, reconcile.Request{NamespacedName: key})
		}
		return append(out, r.neededBy(ctx, obj)...)
	})
}

// stagedChanged selects bindings that start or stop having a strategy.
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

// onStaged requests the bindings of the dependencies of a binding's workload.
func (r *reconciler) onStaged() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(r.neededBy)
}

// neededBy returns the bindings of the dependencies of a workload, whose binding has the name of obj.
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

// rulesChanged requests the bindings whose kinds have other interpretation rules now.
func (r *reconciler) rulesChanged(ctx context.Context, affects func(schema.GroupVersionKind) bool, q queue) {
	r.enqueue(ctx, q, func(b kube.Binding) bool {
		ref := &b.BindingSpec().Resource
		return affects(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	})
}

// enqueue requests bindings with low priority, behind those that were changed.
func (r *reconciler) enqueue(ctx context.Context, q queue, which func(kube.Binding) bool) {
	found, err := r.kind.List(ctx, r.hubClient)
	enqueueThose(ctx, q, found, err, which)
}

// enqueueNaming does so for the bindings that name a cluster. It does not search their targets, of which there may be thousands, since
// nearly all have the cluster as a target.
func (r *reconciler) enqueueNaming(ctx context.Context, q queue, cluster string) {
	found, err := r.kind.Naming(ctx, r.hubClient, cluster)
	enqueueThose(ctx, q, found, err, func(kube.Binding) bool { return true })
}

func enqueueThose(ctx context.Context, q queue, found []kube.Binding, err error, which func(kube.Binding) bool) {
	if err != nil {
		// This is called only after the cache has started, so the list succeeds.
		ctrl.LoggerFrom(ctx).Error(err, "Looking for the bindings that a change concerns")
		return
	}
	kube.EnqueueBindings(q, found, which)
}
