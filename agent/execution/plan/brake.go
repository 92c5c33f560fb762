package plan

import clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"

// Limit returns the brake of a cluster: what its Cluster says, or else what holds for all.
func Limit(own *clusterv1alpha1.DeletionBrake) *clusterv1alpha1.DeletionBrake {
	if own != nil {
		return own
	}
	return &clusterv1alpha1.DeletionBrake{Objects: clusterv1alpha1.DefaultBrakeObjects, Percent: clusterv1alpha1.DefaultBrakePercent}
}

// Off returns whether a brake never holds anything.
func Off(limit *clusterv1alpha1.DeletionBrake) bool { return limit == nil || limit.Percent >= 100 }

// Brakes returns whether deleting this many of all objects exceeds what a brake allows within a minute. Without a
// brake, nothing does.
func Brakes(limit *clusterv1alpha1.DeletionBrake, going, all int) bool {
	return limit != nil && going > int(limit.Objects) && going*100 > int(limit.Percent)*all
}
