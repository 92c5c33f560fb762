package quotas

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/quota"
)

// worksByQuota is the index of Works by the FederatedResourceQuota whose part they have.
const worksByQuota = "federated-resource-quota"

// together is the delay that combines the changes of many bindings into one write of the status. The first change
// starts it.
const together = 300 * time.Millisecond

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

func index(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &workv1alpha1.Work{}, worksByQuota, func(obj client.Object) []string {
		if namespace, name, ok := quota.PartOf(obj); ok {
			return []string{types.NamespacedName{Namespace: namespace, Name: name}.String()}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("indexing works by %q: %w", worksByQuota, err)
	}
	return nil
}

// watch adds the watches of the stage.
func (r *Reconciler) watch(b *builder.Builder) *builder.Builder {
	return b.
		Watches(&policyv1alpha1.FederatedResourceQuota{}, onQuota()).
		Watches(&workv1alpha1.Work{}, onWork()).
		Watches(&workv1alpha2.ResourceBinding{}, r.onBinding()).
		Watches(&policyv1alpha1.PropagationPolicy{}, r.onPolicy()).
		Watches(&clusterv1alpha1.Cluster{}, r.onCluster()).
		Watches(&corev1.Namespace{}, r.onNamespace())
}

func requestFor(obj client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)}
}

// onQuota enqueues a FederatedResourceQuota that somebody else changed.
func onQuota() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q requests) { q.Add(requestFor(e.Object)) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q requests) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers()) ||
				e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() {
				q.Add(requestFor(e.ObjectNew))
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q requests) { q.Add(requestFor(e.Object)) },
	}
}

// onWork enqueues the FederatedResourceQuota of a Work whose status or content somebody else changed.
func onWork() handler.EventHandler {
	ask := func(work client.Object, q requests) {
		if namespace, name, ok := quota.PartOf(work); ok {
			q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}})
		}
	}
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q requests) {
			before, ok := e.ObjectOld.(*workv1alpha1.Work)
			after, ok2 := e.ObjectNew.(*workv1alpha1.Work)
			if ok && ok2 && (before.Generation != after.Generation || !maps.Equal(before.Labels, after.Labels) ||
				!maps.Equal(before.Annotations, after.Annotations) || !slices.Equal(before.Finalizers, after.Finalizers) ||
				before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
				!equality.Semantic.DeepEqual(before.Status, after.Status)) {
				ask(before, q) // the new version may name none
				ask(after, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q requests) { ask(e.Object, q) },
	}
}

// onBinding enqueues the quotas of a binding's namespace, after a delay.
func (r *Reconciler) onBinding() handler.EventHandler {
	ask := func(ctx context.Context, b client.Object, q requests) {
		r.ask(ctx, func(*policyv1alpha1.FederatedResourceQuota) bool { return true },
			func(req reconcile.Request) { q.AddAfter(req, together) }, client.InNamespace(b.GetNamespace()))
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) {
			if !e.IsInInitialList { // quotas are reconciled at the start anyway
				ask(ctx, e.Object, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				e.ObjectOld.GetAnnotations()[contract.AdmittedRequestsAnnotation] != e.ObjectNew.GetAnnotations()[contract.AdmittedRequestsAnnotation] {
				ask(ctx, e.ObjectNew, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) { ask(ctx, e.Object, q) },
	}
}

// onPolicy asks for the quotas of the namespace of a PropagationPolicy that preserves from now on, or no more.
func (r *Reconciler) onPolicy() handler.EventHandler {
	preserves := func(obj client.Object) bool {
		p, ok := obj.(*policyv1alpha1.PropagationPolicy)
		return ok && quota.Preserves(p)
	}
	ask := func(ctx context.Context, p client.Object, q requests) {
		r.ask(ctx, func(*policyv1alpha1.FederatedResourceQuota) bool { return true },
			func(req reconcile.Request) { q.AddAfter(req, together) }, client.InNamespace(p.GetNamespace()))
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) {
			if !e.IsInInitialList && preserves(e.Object) {
				ask(ctx, e.Object, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			if preserves(e.ObjectOld) != preserves(e.ObjectNew) {
				ask(ctx, e.ObjectNew, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) {
			if preserves(e.Object) {
				ask(ctx, e.Object, q)
			}
		},
	}
}

// onCluster asks for the quotas that name a cluster which comes, is ready for Works, or goes.
func (r *Reconciler) onCluster() handler.EventHandler {
	ask := func(ctx context.Context, c client.Object, q requests) { r.askNaming(ctx, c.GetName(), q) }
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) {
			if !e.IsInInitialList {
				ask(ctx, e.Object, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			if e.ObjectOld.GetAnnotations()[contract.ExecutionNamespaceAnnotation] != e.ObjectNew.GetAnnotations()[contract.ExecutionNamespaceAnnotation] ||
				e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() {
				ask(ctx, e.ObjectNew, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) { ask(ctx, e.Object, q) },
	}
}

// onNamespace enqueues the quotas that name the cluster of an execution namespace that was created or recreated: this
// may happen after the Cluster names it.
func (r *Reconciler) onNamespace() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) {
			if cluster, ok := contract.ClusterOf(r.prefix, e.Object.GetName()); ok && !e.IsInInitialList {
				r.askNaming(ctx, cluster, q)
			}
		},
	}
}

// askNaming enqueues the quotas that assign a part to a cluster.
func (r *Reconciler) askNaming(ctx context.Context, cluster string, q requests) {
	r.ask(ctx, func(found *policyv1alpha1.FederatedResourceQuota) bool {
		return slices.ContainsFunc(found.Spec.StaticAssignments, func(a policyv1alpha1.StaticClusterAssignment) bool { return a.ClusterName == cluster })
	}, func(req reconcile.Request) { q.Add(req) })
}

// ask enqueues the quotas selected by a function, from a list.
func (r *Reconciler) ask(ctx context.Context, which func(*policyv1alpha1.FederatedResourceQuota) bool, add func(reconcile.Request), among ...client.ListOption) {
	var list policyv1alpha1.FederatedResourceQuotaList
	if err := r.hubClient.List(ctx, &list, append(among, client.UnsafeDisableDeepCopy)...); err != nil {
		// A list from the cache cannot fail once it has started, which it has by now.
		ctrl.LoggerFrom(ctx).Error(err, "Looking for the FederatedResourceQuotas that a change concerns")
		return
	}
	for i := range list.Items {
		if which(&list.Items[i]) {
			add(requestFor(&list.Items[i]))
		}
	}
}
