package disruption

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// SilentSince returns since when there has been no news about the contents of a cluster: because its agent is silent,
// or does not reach its API; zero if neither. A Cluster that does not exist has been silent for ever.
func SilentSince(c *clusterv1alpha1.Cluster) time.Time {
	ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	if ready == nil || ready.Status == metav1.ConditionTrue ||
		ready.Status == metav1.ConditionFalse && ready.Reason != clusterv1alpha1.ReasonClusterNotReachable {
		return time.Time{}
	}
	return ready.LastTransitionTime.Time
}
