package failover

import (
	"cmp"
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

// gatherMore is how much longer the changes of clusters are gathered for each cluster of a binding, up to gatherMost. When a region is
// lost hundreds change within a minute, and to decide takes as long as the binding has clusters. What it leaves a few seconds later it
// leaves as well: the first change sets the time, and those that follow do not put it off.
const (
	gatherMore = time.Millisecond
	gatherMost = 5 * time.Second
)

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// bindingChanged lets through what may be news: another spec, and of those that leave
// something, or would if they fared badly, what the clusters report.
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

// scheduled is what the scheduler says.
func scheduled(status *workv1alpha2.ResourceBindingStatus) string {
	if c := meta.FindStatusCondition(status.Conditions, workv1alpha2.BindingScheduled); c != nil {
		return fmt.Sprint(c.Reason, c.ObservedGeneration)
	}
	return ""
}

// onWork asks for the binding of a Work when it is gone, or when its cluster has reported
// on it as it is. Of bindings that leave nothing the cache tells at no cost.
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

// leaves says whether a binding has a task, as far as the cache knows.
func (r *reconciler) leaves(ctx context.Context, key types.NamespacedName) bool {
	b := r.kind.New()
	err := r.hubClient.Get(ctx, key, b, client.UnsafeDisableDeepCopy)
	return err == nil && len(b.BindingSpec().GracefulEvictionTasks) > 0
}

// onCluster asks for the bindings that are in a cluster, or are leaving it, when it
// changes in a way that decides about that.
func (r *reconciler) onCluster() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ requests) {
			r.verdicts.Outdate(e.Object)
			if c, ok := e.Object.(*clusterv1alpha1.Cluster); ok {
				r.watch.Observe(c, cmp.Or(r.options.Silence, disruption.DefaultSilence), r.clock.Now())
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			before, ok := e.ObjectOld.(*clusterv1alpha1.Cluster)
			after, ok2 := e.ObjectNew.(*clusterv1alpha1.Cluster)
			if !ok || !ok2 {
				return
			}
			r.watch.Observe(after, cmp.Or(r.options.Silence, disruption.DefaultSilence), r.clock.Now())
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

// decides says whether a change of a cluster may change what leaves it. What the hub
// suspects is told by a condition.
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

// ask asks for the bindings that name a cluster, and gathers what is of others.
func (r *reconciler) ask(ctx context.Context, c client.Object, q requests) {
	found, err := r.kind.Naming(ctx, r.hubClient, c.GetName())
	if err != nil {
		// The cache answers once it has started, and this is called after that.
		ctrl.LoggerFrom(ctx).Error(err, "Looking for bindings after a Cluster changed")
		return
	}
	for _, b := range found {
		// That it names the cluster is known of it. To look for that once more takes long in one that is in thousands.
		if concerns(b) {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)}, gathering(b))
		}
	}
}

// gathering is for how long the changes of clusters are gathered of a binding.
func gathering(b kube.Binding) time.Duration {
	spec := b.BindingSpec()
	return min(time.Duration(len(spec.Clusters)+len(spec.GracefulEvictionTasks))*gatherMore, gatherMost)
}
