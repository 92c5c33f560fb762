package plan

import (
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// Input is the input of Waves.
type Input struct {
	// Strategy is the strategy of the revision. Unset fields have their defaults.
	Strategy fairleadv1alpha1.RolloutStrategySpec
	// Seed is the UID of the binding: it makes the order of otherwise equal clusters differ between applications, but not between
	// revisions.
	Seed string
	// Targets are the clusters of the application. If there is no Cluster for one, only the name is set.
	Targets []*clusterv1alpha1.Cluster
}
