package clusterstatus

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// clusterChanges passes the events that call for an early report: the Cluster is new, its spec changed, or the hub
// has set Ready to Unknown because it heard nothing.
func clusterChanges(name string) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return e.Object.GetName() == name },
		UpdateFunc: func(e event.UpdateEvent) bool {
			cluster, ok := e.ObjectNew.(*clusterv1alpha1.Cluster)
			return ok && cluster.Name == name &&
				(e.ObjectOld.GetGeneration() != cluster.Generation || silent(cluster))
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// heldSource triggers a report when the condition about held deletions changed. It does not rely on Cluster events:
// execution handles an operator's approval there, and a handler of this package could run before it and report the
// hold once more.
func heldSource(cluster string, changed <-chan struct{}) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-changed:
					queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: cluster}})
				}
			}
		}()
		return nil
	})
}

// silent returns whether the hub does not know the state of the member.
func silent(cluster *clusterv1alpha1.Cluster) bool {
	ready := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterReady)
	return ready == nil || ready.Status == metav1.ConditionUnknown
}

// next returns the delay until the next round.
func (r *Reconciler) next() time.Duration {
	if r.due != nil {
		if due := r.due(); due > 0 {
			return min(due, r.frequency)
		}
	}
	return r.frequency
}
