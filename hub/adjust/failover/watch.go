package failover

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
)

// gatherMore, for each cluster of a binding and up to gatherMost, is how long changes of clusters are batched. When a
// region is lost, hundreds of clusters change within a minute, and a decision takes time in proportion to the binding's
// clusters. The first change sets the time; those that follow do not postpone it.
const (
	gatherMore = time.Millisecond
	gatherMost = 5 * time.Second
)

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// bindingChanged passes changes of the spec, and, for bindings that are being evicted or have application failover,
// changes of the reported status.
func bindingChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			b, ok := e.Object.(kube.Binding)
			return ok && concerns(b)
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(kube.Binding)
			if !ok {
				return false
			}
			after, ok := e.ObjectNew.(kube.Binding)
			if !ok {
				return false
			}
			if before.GetGeneration() != after.GetGeneration() {
				return concerns(after) || concerns(before)
			}
			spec := after.BindingSpec()
			watched := len(spec.GracefulEvictionTasks) > 0 || (spec.Failover != nil && spec.Failover.Application != nil)
			was, is := before.BindingStatus(), after.BindingStatus()
			return watched && (was.SchedulerObservedGeneration != is.SchedulerObservedGeneration ||
				scheduled(was) != scheduled(is) || !equality.Semantic.DeepEqual(was.AggregatedStatus, is.AggregatedStatus))
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// scheduled identifies the scheduler's latest result.
func scheduled(status *workv1alpha2.ResourceBindingStatus) string {
	if c := meta.FindStatusCondition(status.Conditions, workv1alpha2.BindingScheduled); c != nil {
		return fmt.Sprint(c.Reason, c.ObservedGeneration)
	}
	return ""
}

// onWork enqueues the binding of a Work that was deleted, or on whose current generation the cluster has reported.
// Bindings without an eviction task are dropped, which costs only a cache read.
func (r *reconciler) onWork() handler.EventHandler {
	ask := func(ctx context.Context, obj client.Object, q requests) {
		key, ok := bindings.KeyOf(obj)
		if ok && kube.BindingsIn(key.Namespace).Kind == r.kind.Kind && r.leaves(ctx, key) {
			q.Add(reconcile.Request{NamespacedName: key})
		}
	}
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			before, ok := e.ObjectOld.(*workv1alpha1.Work)
			after, ok2 := e.ObjectNew.(*workv1alpha1.Work)
			if ok && ok2 && !observed(before) && observed(after) {
				ask(ctx, after, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) { ask(ctx, e.Object, q) },
	}
}

// leaves says whether a binding has an eviction task, as far as the cache knows.
func (r *reconciler) leaves(ctx context.Context, key types.NamespacedName) bool {
	b := r.kind.New()
	err := r.hubClient.Get(ctx, key, b, client.UnsafeDisableDeepCopy)
	return err == nil && len(b.BindingSpec().GracefulEvictionTasks) > 0
}

// onCluster enqueues the bindings that name a cluster as a target or in a task when the cluster changes in a way that
// may matter.
func (r *reconciler) onCluster() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ requests) {
			r.verdicts.Outdate(e.Object)
			if c, ok := e.Object.(*clusterv1alpha1.Cluster); ok {
				r.watch.Observe(c, r.silence(), r.clock.Now())
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			before, ok := e.ObjectOld.(*clusterv1alpha1.Cluster)
			after, ok2 := e.ObjectNew.(*clusterv1alpha1.Cluster)
			if !ok || !ok2 {
				return
			}
			r.watch.Observe(after, r.silence(), r.clock.Now())
			r.taints.see(before, after, r.clock.Now())
			if disruption.AffectsVerdict(before, after) {
				r.verdicts.Outdate(after)
			}
			if decides(before, after) {
				r.ask(ctx, after, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) {
			r.verdicts.Gone(e.Object)
			r.taints.gone(e.Object)
			r.watch.Gone(e.Object.GetName())
			r.ask(ctx, e.Object, q)
		},
	}
}

// tick lets the stage notice when its process was suspended, until the context ends. It implements source.Func, and
// enqueues nothing.
func (r *reconciler) tick(ctx context.Context, _ requests) error {
	r.watch.KeepTicking(ctx, r.clock)
	return nil
}

// decides says whether a change of a cluster may change evictions from it. Whether they are suspended is in one of its
// conditions.
func decides(before, after *clusterv1alpha1.Cluster) bool {
	status := func(c *clusterv1alpha1.Cluster, conditionType string) string {
		if found := meta.FindStatusCondition(c.Status.Conditions, conditionType); found != nil {
			if conditionType == clusterv1alpha1.ClusterEvictionSuspended {
				return found.Reason
			}
			return string(found.Status)
		}
		return ""
	}
	return !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		status(before, clusterv1alpha1.ClusterReady) != status(after, clusterv1alpha1.ClusterReady) ||
		status(before, clusterv1alpha1.ClusterEvictionSuspended) != status(after, clusterv1alpha1.ClusterEvictionSuspended)
}

// ask enqueues the bindings that name a cluster, after the batching delay.
func (r *reconciler) ask(ctx context.Context, c client.Object, q requests) {
	found, err := r.kind.Naming(ctx, r.hubClient, c.GetName())
	if err != nil {
		// The cache has synced before handlers run, so this does not happen.
		ctrl.LoggerFrom(ctx).Error(err, "Looking for bindings after a Cluster changed")
		return
	}
	for _, b := range found {
		// Naming found it by this cluster; searching its spec again would be slow with thousands of targets.
		if concerns(b) {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)}, gathering(b))
		}
	}
}

// gathering returns how long changes of clusters are batched for a binding.
func gathering(b kube.Binding) time.Duration {
	spec := b.BindingSpec()
	return min(time.Duration(len(spec.Clusters)+len(spec.GracefulEvictionTasks))*gatherMore, gatherMost)
}
