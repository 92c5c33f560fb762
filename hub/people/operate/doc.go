// Package operate has the operations of people beyond writing objects: cordoning a cluster, letting one join, steering
// a rollout. Commands and dashboard both use it, with the rights of the client that they pass.
//
//	Reads:     Clusters, requests to join, join tokens, cluster-info; StagedRollouts.
//	Writes:    taints and the wanted agent of Clusters; join tokens, and which joins were accepted with them;
//	           the spec of StagedRollouts.
//	Owns:      nothing.
//	Invariant: operations are idempotent; errors say what to do next; an operation on a revision is never
//	           applied to another one.
//	Next:      hub/cli and hub/people/dashboard report the result.
package operate
