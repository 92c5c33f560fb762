package plan

import (
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// Input is what waves are made of.
type Input struct {
	// Strategy is the strategy that the revision is to go by. What it leaves out has its default.
	Strategy fairleadv1alpha1.RolloutStrategySpec
	// Seed is the UID of the binding: clusters alike are taken in an order that differs from
	// application to application, but not from revision to revision.
	Seed string
	// Targets are the clusters of the application. Of one that has no Cluster, only the name is set.
	Targets []*clusterv1alpha1.Cluster
}
