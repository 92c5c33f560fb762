package plan

import clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"

// Limit returns the brake of a cluster: what its Cluster says, or else what holds for all.
func Limit(said *clusterv1alpha1.DeletionBrake) *clusterv1alpha1.DeletionBrake {
	if said != nil {
		return said
	}
	return &clusterv1alpha1.DeletionBrake{Objects: clusterv1alpha1.DefaultBrakeObjects, Percent: clusterv1alpha1.DefaultBrakePercent}
}

// Off says whether a brake never holds anything.
func Off(limit *clusterv1alpha1.DeletionBrake) bool { return limit == nil || limit.Percent >= 100 }

// Brakes says whether so many of all objects are more than a brake lets go within a minute.
// Without a brake, none are too many.
func Brakes(limit *clusterv1alpha1.DeletionBrake, going, all int) bool {
	return limit != nil && going > int(limit.Objects) && going*100 > int(limit.Percent)*all
}
