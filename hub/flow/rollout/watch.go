package rollout

import (
	"context"
	"maps"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
)

// batchDelay batches the reports of several clusters into one reconcile.
const batchDelay = 20 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// bindingChanged passes relevant changes of bindings that have or had a strategy.
func bindingChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return bindings.IsStaged(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			if !bindings.IsStaged(e.ObjectOld) && !bindings.IsStaged(e.ObjectNew) {
				return false
			}
			return bindings.StrategyOf(e.ObjectOld) != bindings.StrategyOf(e.ObjectNew) || e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				e.ObjectOld.GetAnnotations()[contract.DependenciesAnnotation] != e.ObjectNew.GetAnnotations()[contract.DependenciesAnnotation] ||
				bindings.IDOf(e.ObjectOld) != bindings.IDOf(e.ObjectNew) || !e.ObjectNew.GetDeletionTimestamp().IsZero()
		},
		DeleteFunc:  func(e event.DeleteEvent) bool { return bindings.IsStaged(e.Object) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// onDependent enqueues the bindings that depend on a changed one.
func (r *reconciler) onDependent() handler.EventHandler {
	ask := func(ctx context.Context, obj client.Object, q queue) {
		if b, ok := obj.(kube.Binding); ok {
			r.askForRequirers(ctx, b, q, 0)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList {
				ask(ctx, e.Object, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || bindings.StrategyOf(e.ObjectOld) != bindings.StrategyOf(e.ObjectNew) {
				ask(ctx, e.ObjectOld, q)
				ask(ctx, e.ObjectNew, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { ask(ctx, e.Object, q) },
	}
}

// askForRequirers enqueues the bindings with a strategy that depend on a binding.
func (r *reconciler) askForRequirers(ctx context.Context, needed kube.Binding, q queue, after time.Duration) {
	for _, by := range bindings.Requirers(needed) {
		b := kube.BindingsIn(by.Namespace).New()
		if err := r.hubClient.Get(ctx, by, b, client.UnsafeDisableDeepCopy); err == nil && bindings.IsStaged(b) {
			r.ask(q, by, after)
		}
	}
}

// ask enqueues a binding, if it is of this reconciler's kind.
func (r *reconciler) ask(q queue, key client.ObjectKey, after time.Duration) {
	if kube.BindingsIn(key.Namespace).Kind == r.kind.Kind {
		q.AddAfter(reconcile.Request{NamespacedName: key}, after)
	}
}

// onRollout enqueues the binding of a rollout that was created, deleted, or changed by others.
func (r *reconciler) onRollout() handler.EventHandler {
	ask := func(obj client.Object, q queue) {
		q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)})
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { ask(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			r.written.Seen(client.ObjectKeyFromObject(e.ObjectNew), e.ObjectNew)
			before, ok := e.ObjectOld.(kube.Rollout)
			after, ok2 := e.ObjectNew.(kube.Rollout)
			if !ok || !ok2 || before.GetGeneration() != after.GetGeneration() || !after.GetDeletionTimestamp().IsZero() ||
				!apiequality.Semantic.DeepEqual(before.RolloutStatus(), after.RolloutStatus()) && r.byOthers(after) {
				ask(e.ObjectNew, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			r.written.Gone(client.ObjectKeyFromObject(e.Object), e.Object)
			r.states.forget(client.ObjectKeyFromObject(e.Object))
			ask(e.Object, q)
		},
	}
}

// byOthers returns whether a status differs from the one that this process last wrote, as after a restore.
func (r *reconciler) byOthers(rollout kube.Rollout) bool {
	status, known := r.states.lastWritten(client.ObjectKeyFromObject(rollout))
	return !known || !apiequality.Semantic.DeepEqual(status, rollout.RolloutStatus())
}

// onStrategy enqueues the bindings of a strategy that was created, changed or deleted.
func (r *reconciler) onStrategy() handler.EventHandler {
	return onEdit(func(ctx context.Context, strategy client.Object, q queue) {
		r.enqueue(ctx, q, func(b kube.Binding) bool { return bindings.StrategyOf(b) == strategy.GetName() })
	})
}

// onEdit calls ask when an object is created or deleted, or its spec changes.
func onEdit(ask func(context.Context, client.Object, queue)) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList {
				ask(ctx, e.Object, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() {
				ask(ctx, e.ObjectNew, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { ask(ctx, e.Object, q) },
	}
}

// onWork enqueues the binding of a Work that was created, changed or deleted, or whose report changed. For the Work of a dependency, it
// enqueues the bindings that depend on it.
func (r *reconciler) onWork() handler.EventHandler {
	ask := func(ctx context.Context, obj client.Object, q queue) {
		key, ok := bindings.KeyOf(obj)
		if !ok {
			return
		}
		b := kube.BindingsIn(key.Namespace).New()
		if err := r.hubClient.Get(ctx, key, b, client.UnsafeDisableDeepCopy); err != nil {
			return // the binding was deleted, or the cache is stopping
		}
		if bindings.IsStaged(b) {
			r.ask(q, key, batchDelay)
			return
		}
		r.askForRequirers(ctx, b, q, batchDelay)
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList {
				ask(ctx, e.Object, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*workv1alpha1.Work)
			after, ok2 := e.ObjectNew.(*workv1alpha1.Work)
			if ok && ok2 && (before.Generation != after.Generation || !maps.Equal(before.Annotations, after.Annotations) ||
				reportOf(before) != reportOf(after) || partReportOf(before) != partReportOf(after)) {
				ask(ctx, after, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { ask(ctx, e.Object, q) },
	}
}

// onCluster enqueues the bindings that name a cluster when it falls silent, is heard from again or is deleted, and when the condition
// EvictionSuspended changes, which says whether the hub believes its silence.
func (r *reconciler) onCluster() handler.EventHandler {
	ask := func(ctx context.Context, name string, q queue) {
		found, err := r.kind.Naming(ctx, r.hubClient, name)
		if err != nil {
			return // the cache is stopping
		}
		kube.EnqueueBindings(q, found, func(b kube.Binding) bool { return bindings.IsStaged(b) })
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			r.verdicts.Outdate(e.Object)
			if c, ok := e.Object.(*clusterv1alpha1.Cluster); ok {
				r.watch.Observe(c, r.silence, r.clock.Now())
			}
			if !e.IsInInitialList {
				ask(ctx, e.Object.GetName(), q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*clusterv1alpha1.Cluster)
			after, ok2 := e.ObjectNew.(*clusterv1alpha1.Cluster)
			if !ok || !ok2 {
				return
			}
			r.watch.Observe(after, r.silence, r.clock.Now())
			if disruption.AffectsVerdict(before, after) {
				r.verdicts.Outdate(after)
			}
			if clusterDiffers(before, after) {
				ask(ctx, after.Name, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			r.verdicts.Gone(e.Object)
			r.watch.Gone(e.Object.GetName())
			ask(ctx, e.Object.GetName(), q)
		},
	}
}

// tick lets the stage detect that its process was suspended, until the context ends. It implements source.Func, and enqueues nothing.
func (r *reconciler) tick(ctx context.Context, _ queue) error {
	r.watch.Tick(r.clock.Now())
	r.watch.KeepTicking(ctx, r.clock)
	return nil
}

func clusterDiffers(before, after *clusterv1alpha1.Cluster) bool {
	return !disruption.SilentSince(before).Equal(disruption.SilentSince(after)) ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		meta.IsStatusConditionTrue(before.Status.Conditions, clusterv1alpha1.ClusterEvictionSuspended) !=
			meta.IsStatusConditionTrue(after.Status.Conditions, clusterv1alpha1.ClusterEvictionSuspended)
}

// onOverride enqueues all bindings with a strategy when an override policy changes: whether it affects one shows only in the content.
func (r *reconciler) onOverride() handler.EventHandler {
	return onEdit(func(ctx context.Context, policy client.Object, q queue) {
		r.epoch.Add(1)
		r.enqueue(ctx, q, func(b kube.Binding) bool {
			return bindings.IsStaged(b) && (policy.GetNamespace() == "" || policy.GetNamespace() == b.GetNamespace())
		})
	})
}

// rulesChanged enqueues the bindings of the kinds whose interpreter rules changed.
func (r *reconciler) rulesChanged(ctx context.Context, affects func(schema.GroupVersionKind) bool, q queue) {
	r.enqueue(ctx, q, func(b kube.Binding) bool { return bindings.IsStaged(b) && affects(kindOf(&b.BindingSpec().Resource)) })
}

// enqueue enqueues the bindings that which selects, behind those that changed themselves.
func (r *reconciler) enqueue(ctx context.Context, q queue, which func(kube.Binding) bool) {
	found, err := r.kind.List(ctx, r.hubClient)
	if err != nil {
		return // the cache is stopping
	}
	kube.EnqueueBindings(q, found, which)
}
