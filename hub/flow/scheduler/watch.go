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

// bindingChanged lets through what can change a decision: the spec, and the labels,
// which say whose the binding is. Statuses, our own among them, do not.
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

// bindings has a binding that changed placed, what one that is gone reserved freed, and
// those of its groups looked at again when its clusters change.
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
				// What never got a pod leaves no trace in any report.
				r.wake(hints.Change{Event: hints.Capacity}, q)
			}
			if b, ok := e.Object.(kube.Binding); ok {
				r.wakePeers(ctx, b, q)
			}
		},
	}
}

// wakePeers has the bindings looked at again that are to be with a binding, or away from it.
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

// forget lets go of what is known of a binding that is gone, and says whether anything
// was reserved for it.
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

// seen drops the targets of a decision that the cache shows, or that is outdated, and takes over what the binding uses. What its
// targets have more than before, and not by such a decision, is reserved: somebody else assigned it, as the scheduler that works
// does while this one waits for its turn.
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

// resume reserves again what the scheduler that ran before us had assigned and clusters
// have not reported yet. Of what was assigned a moment ago the status does not tell since when:
// that waits for others to write it. A time that is yet to come was written by a clock that was wrong and has been put right, and counts
// as now: else the room would stay reserved until then.
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

// clusters keeps the snapshot, and has the bindings looked at again that news of a
// cluster concern. Clusters that were there when we started are not news: every
// binding is looked at then.
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

// keep takes a cluster over as it is now.
func (r *reconciler) keep(c *clusterv1alpha1.Cluster) {
	r.snapshot.Set(c)
	r.ledger.Report(c)
}

// enqueue adds a binding to the queue, in its place by priority.
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
