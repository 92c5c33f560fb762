package plan

import clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"

// Brakes says whether so many of all objects are more than a brake lets go within a minute.
// Without a brake, none are too many.
func Brakes(limit *clusterv1alpha1.DeletionBrake, going, all int) bool {
	return limit != nil && going > int(limit.Objects) && going*100 > int(limit.Percent)*all
}
