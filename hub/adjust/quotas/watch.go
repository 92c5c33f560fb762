package quotas

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

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
	"fairlead.dev/hub/adjust/quotas/parts"
)

// worksByQuota is the index of Works by the FederatedResourceQuota that they bring a part
// of.
const worksByQuota = "federated-resource-quota"

// together lets the changes of many bindings become one write of the status. The first one
// sets the time.
const together = 300 * time.Millisecond

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

func index(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &workv1alpha1.Work{}, worksByQuota, func(obj client.Object) []string {
		if namespace, name, ok := parts.QuotaOf(obj); ok {
			return []string{types.NamespacedName{Namespace: namespace, Name: name}.String()}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("indexing works by %q: %w", worksByQuota, err)
	}
	return nil
}

// watch says what wakes the stage.
func (r *Reconciler) watch(b *builder.Builder) *builder.Builder {
	return b.
		Watches(&policyv1alpha1.FederatedResourceQuota{}, onQuota()).
		Watches(&workv1alpha1.Work{}, onWork()).
		Watches(&workv1alpha2.ResourceBinding{}, r.onBinding()).
		Watches(&clusterv1alpha1.Cluster{}, r.onCluster())
}

func requestFor(obj client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)}
}

// onQuota asks for a FederatedResourceQuota of which somebody else changed something.
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

// onWork asks for the FederatedResourceQuota of a Work about which something was reported,
// or that somebody changed.
func onWork() handler.EventHandler {
	ask := func(work client.Object, q requests) {
		if namespace, name, ok := parts.QuotaOf(work); ok {
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
				ask(before, q) // it may name none any more
				ask(after, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q requests) { ask(e.Object, q) },
	}
}

// onBinding asks for the quotas of the namespace of a binding, a little later.
func (r *Reconciler) onBinding() handler.EventHandler {
	ask := func(ctx context.Context, b client.Object, q requests) {
		r.ask(ctx, func(*policyv1alpha1.FederatedResourceQuota) bool { return true },
			func(req reconcile.Request) { q.AddAfter(req, together) }, client.InNamespace(b.GetNamespace()))
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) {
			if !e.IsInInitialList { // its quotas are looked at anyway
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

// onCluster asks for the quotas that name a cluster which comes, is ready for Works, or goes.
func (r *Reconciler) onCluster() handler.EventHandler {
	ask := func(ctx context.Context, c client.Object, q requests) {
		r.ask(ctx, func(found *policyv1alpha1.FederatedResourceQuota) bool {
			return slices.ContainsFunc(found.Spec.StaticAssignments, func(a policyv1alpha1.StaticClusterAssignment) bool { return a.ClusterName == c.GetName() })
		}, func(req reconcile.Request) { q.Add(req) })
	}
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

// ask asks for the quotas among some that a function picks.
func (r *Reconciler) ask(ctx context.Context, which func(*policyv1alpha1.FederatedResourceQuota) bool, add func(reconcile.Request), among ...client.ListOption) {
	var list policyv1alpha1.FederatedResourceQuotaList
	if err := r.hubClient.List(ctx, &list, append(among, client.UnsafeDisableDeepCopy)...); err != nil {
		// The cache answers once it has started, and this is called after that.
		ctrl.LoggerFrom(ctx).Error(err, "Looking for the FederatedResourceQuotas that a change concerns")
		return
	}
	for i := range list.Items {
		if which(&list.Items[i]) {
			add(requestFor(&list.Items[i]))
		}
	}
}
