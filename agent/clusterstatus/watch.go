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

// clusterChanges lets pass what asks for a report before its time: the Cluster is new,
// its spec changed, or the hub concluded from our silence that it knows nothing.
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

// heldSource asks for a report when what is to be said of deletions changed. The word of an operator is heard by execution: a handler of the Cluster
// of our own may run before its handler, and would report the hold once more.
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

// silent says whether the hub has no idea how the member is.
func silent(cluster *clusterv1alpha1.Cluster) bool {
	ready := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterReady)
	return ready == nil || ready.Status == metav1.ConditionUnknown
}

// next is after how long the member is asked again.
func (r *Reconciler) next() time.Duration {
	if r.due != nil {
		if due := r.due(); due > 0 {
			return min(due, r.frequency)
		}
	}
	return r.frequency
}
