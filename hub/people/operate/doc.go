// Package operate is what people do to a hub beside writing objects: keep applications away
// from a cluster, let one join, steer a rollout. Commands and dashboard do the same, since both do it here,
// with the rights of the client that they are given.
//
//	Reads:     Clusters, requests to join, join tokens, cluster-info; StagedRollouts.
//	Writes:    taints and the wanted agent of Clusters; join tokens and who was accepted with them; the spec of StagedRollouts.
//	Owns:      nothing.
//	Invariant: done twice is done once; errors say what to do next; what is asked for of a revision is done to no other.
//	Next:      hub/cli and hub/people/dashboard say what came of it.
package operate
