package disruption

import (
	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// AffectsVerdict returns whether a change of a cluster may change the verdict on any cluster.
func AffectsVerdict(before, after *clusterv1alpha1.Cluster) bool {
	if before.UID != after.UID || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() {
		return true
	}
	for _, conditionType := range []string{clusterv1alpha1.ClusterReady, clusterv1alpha1.ClusterEvictionSuspended} {
		was, is := meta.FindStatusCondition(before.Status.Conditions, conditionType), meta.FindStatusCondition(after.Status.Conditions, conditionType)
		if (was == nil) != (is == nil) {
			return true
		}
		if was != nil && (was.Status != is.Status || was.Reason != is.Reason || !was.LastTransitionTime.Equal(&is.LastTransitionTime)) {
			return true
		}
	}
	return false
}
