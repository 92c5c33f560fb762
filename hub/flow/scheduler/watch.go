package scheduler

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/scheduler/hints"
	"fairlead.dev/hub/flow/scheduler/reserve"
)

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// bindingChanged passes changes that can change a decision: of the spec, of the annotation return-to-preferred, and of the labels, which
// name the policy that claims the binding. It drops those of the status, which the scheduler itself writes.
func bindingChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				e.ObjectOld.GetAnnotations()[contract.ReturnToPreferredAnnotation] != e.ObjectNew.GetAnnotations()[contract.ReturnToPreferredAnnotation] ||
				!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// bindings enqueues a changed binding, releases the reservations of a deleted one, and enqueues the bindings in the same affinity groups
// when a binding's clusters change.
func (r *reconciler) bindings() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q requests) {
			if b, ok := e.Object.(kube.Binding); ok && e.IsInInitialList {
				r.resume(b)
			} else if ok {
				r.seen(b, b.BindingSpec().Clusters)
			}
			enqueue(q, e.IsInInitialList, e.Object)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			enqueue(q, false, e.ObjectNew)
			before, ok := e.ObjectOld.(kube.Binding)
			after, ok2 := e.ObjectNew.(kube.Binding)
			if !ok || !ok2 {
				return
			}
			r.seen(after, before.BindingSpec().Clusters)
			was, is := before.BindingSpec(), after.BindingSpec()
			left := !equality.Semantic.DeepEqual(was.WorkloadAffinityGroups, is.WorkloadAffinityGroups)
			if left {
				r.wakePeers(ctx, before, q)
			}
			if left || !equality.Semantic.DeepEqual(was.Clusters, is.Clusters) {
				r.wakePeers(ctx, after, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) {
			if freed := r.forget(client.ObjectKeyFromObject(e.Object)); freed {
				// No report of a cluster will show this: the replicas may never have had pods.
				r.wake(hints.Change{Event: hints.Capacity}, q)
			}
			if b, ok := e.Object.(kube.Binding); ok {
				r.wakePeers(ctx, b, q)
			}
		},
	}
}

// wakePeers enqueues the bindings with affinity or anti-affinity to a binding.
func (r *reconciler) wakePeers(ctx context.Context, b kube.Binding, q requests) {
	peers, err := r.kind.Peers(ctx, r.hubClient, b)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Looking for bindings of the same group")
		return
	}
	for _, peer := range peers {
		if hints.Responsible(peer) {
			enqueue(q, true, peer)
		}
	}
}

// forget drops the state of a deleted binding, and returns whether anything was reserved for it.
func (r *reconciler) forget(key types.NamespacedName) bool {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	delete(r.assumed, key)
	delete(r.waiting, key)
	r.notPreferred.Delete(key)
	delete(r.failbackSince, key)
	if a := r.accounts[key.Namespace]; a != nil {
		a.Set(key.Name, nil)
	}
	return r.ledger.Forget(key)
}

// seen drops the assumed decision on a binding once the cache shows it, or shows something newer, and updates the binding's usage. It
// reserves what the targets gained by other decisions, as by those of the leading hub while this one is a standby.
func (r *reconciler) seen(b kube.Binding, before []workv1alpha2.TargetCluster) {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	key := client.ObjectKeyFromObject(b)
	if p, ok := r.assumed[key]; ok && p.generation < b.GetGeneration() {
		delete(r.assumed, key)
		before = p.targets
	}
	if b.GetDeletionTimestamp().IsZero() {
		r.reserve(key, b.BindingSpec(), nil, r.ledger.Gained(b, before), r.clock.Now())
	}
	r.count(b)
}

// resume reserves, after a start, what was assigned before and the clusters have not reported yet. The time of the assignment is
// lastScheduledTime, or now if the status has none yet, because writing it was deferred. A time in the future was written by a clock that
// was wrong, and counts as now: otherwise the capacity would stay reserved until then.
func (r *reconciler) resume(b kube.Binding) {
	at := r.clock.Now()
	if last := b.BindingStatus().LastScheduledTime; last != nil && last.Time.Before(at) {
		at = last.Time
	}
	if r.clock.Since(at) >= reserve.Lifetime || !b.GetDeletionTimestamp().IsZero() {
		return
	}
	r.reserve(client.ObjectKeyFromObject(b), b.BindingSpec(), nil, reserve.Missing(b), at)
}

// clusters updates the snapshot, and wakes the bindings that the change of a cluster affects. The initial list wakes none: every binding is
// reconciled after a start.
func (r *reconciler) clusters() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q requests) {
			if c, ok := e.Object.(*clusterv1alpha1.Cluster); ok {
				r.keep(c)
				if !e.IsInInitialList {
					r.wake(hints.Change{Event: hints.Feasibility, After: c}, q)
				}
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q requests) {
			before, ok := e.ObjectOld.(*clusterv1alpha1.Cluster)
			after, ok2 := e.ObjectNew.(*clusterv1alpha1.Cluster)
			if ok && ok2 {
				r.keep(after)
				r.wake(hints.Of(before, after), q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q requests) {
			r.snapshot.Remove(e.Object.GetName())
			r.ledger.Leave(e.Object.GetName())
			if c, ok := e.Object.(*clusterv1alpha1.Cluster); ok {
				r.wake(hints.Change{Event: hints.Feasibility, Before: c}, q)
			}
		},
	}
}

// keep updates the snapshot and the ledger with a cluster.
func (r *reconciler) keep(c *clusterv1alpha1.Cluster) {
	r.snapshot.Set(c)
	r.ledger.Report(c)
}

// enqueue adds a binding to the queue with its priority. Again says that the binding itself did not change.
func enqueue(q requests, again bool, obj client.Object) {
	b, ok := obj.(kube.Binding)
	if !ok {
		return
	}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)}
	if pq, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		pq.AddWithOpts(priorityqueue.AddOpts{Priority: new(hints.Priority(b.BindingSpec(), again))}, request)
		return
	}
	q.Add(request)
}
