// Package reserve tracks what was assigned to clusters and is not in their reports yet, so that a burst of applications does not use the
// same capacity many times.
//
// An assignment reserves what it adds to a cluster at once. When a report of the cluster counts more pods than the one before, that many
// reserved replicas are released, the oldest first: a pod is counted by its reservation or by the report, and only for a moment by both.
// The error is bounded by what happens in the member: a pod that the hub did not place releases a reservation too early, and a pod that
// disappears while one of the hub's appears delays a release. No reservation outlives Lifetime, because a replica without a pod by then may
// never get one. After a restart, assignments that the members have not reported are reserved again. So are, at any time, assignments by
// another hub while this one is a standby.
package reserve
