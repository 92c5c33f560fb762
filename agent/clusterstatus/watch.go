package clusterstatus

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// clusterChanges lets pass what asks for a report before its time: the Cluster is new,
// its spec changed, an operator said something of deletions that are held, or the hub concluded from our silence that it knows nothing.
func clusterChanges(name string) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return e.Object.GetName() == name },
		UpdateFunc: func(e event.UpdateEvent) bool {
			cluster, ok := e.ObjectNew.(*clusterv1alpha1.Cluster)
			return ok && cluster.Name == name &&
				(e.ObjectOld.GetGeneration() != cluster.Generation || approval(e.ObjectOld) != approval(cluster) || silent(cluster))
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// approval returns which deletions may go by the word of an operator.
func approval(cluster client.Object) string {
	return cluster.GetAnnotations()[contract.DeletionsApprovedAnnotation]
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
