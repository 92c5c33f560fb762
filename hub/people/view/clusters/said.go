package clusters

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// SaidLast says whether a condition of a Cluster may be outdated, because the agent reported it and is now silent, or
// its member is not ready, during which it reports nothing else.
func SaidLast(c *clusterv1alpha1.Cluster, condition string) bool {
	ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	if ready == nil {
		return false
	}
	switch condition {
	case clusterv1alpha1.ClusterCompleteAPIEnablements, clusterv1alpha1.ClusterCapacityUnknown:
		return ready.Status != metav1.ConditionTrue
	case clusterv1alpha1.ClusterDeletionsHeld:
		return ready.Status == metav1.ConditionUnknown
	default:
		return false
	}
}

// SaysNow says whether a condition of a Cluster is true and current.
func SaysNow(c *clusterv1alpha1.Cluster, condition string) bool {
	return meta.IsStatusConditionTrue(c.Status.Conditions, condition) && !SaidLast(c, condition)
}
