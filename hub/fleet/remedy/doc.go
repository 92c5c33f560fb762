// Package remedy says on Clusters what Remedies ask for while they are in a certain
// condition.
//
//	Reads:     Remedies, Clusters.
//	Writes:    status.remedyActions of Clusters.
//	Owns:      that field.
//	Invariant: the actions are those of the Remedies that are about the Cluster as it is
//	           now; who else writes them is corrected.
//	Next:      whoever steers traffic between clusters.
package remedy
