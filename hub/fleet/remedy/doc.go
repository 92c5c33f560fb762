// Package remedy sets on each Cluster the actions that Remedies ask for in its present condition.
//
//	Reads:     Remedies, Clusters.
//	Writes:    status.remedyActions of Clusters.
//	Owns:      that field.
//	Invariant: the actions are those of the Remedies that match the Cluster as it is now; changes by
//	           others are reverted.
//	Next:      whatever steers traffic between clusters.
package remedy
