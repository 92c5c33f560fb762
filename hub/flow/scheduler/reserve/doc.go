// Package reserve remembers what was assigned to clusters and is not in their reports
// yet, so that a burst of applications does not fill one cluster many times over.
//
// What an assignment adds to a cluster is reserved there at once. When a later report
// of the cluster counts more pods than the one before, that many reserved replicas are
// let go, the oldest first: a pod is counted by its reservation or by the report, and
// only for a moment by both. A pod that nobody placed from here lets go of a
// reservation too early, and a pod that vanished at the same time as one of ours
// appeared lets go of one too late; both are bounded by what happened in the member,
// and no reservation outlives Lifetime, because a replica that has no pod by then may
// never get one. After a restart what the members have not said to exist is reserved
// again, and so is at any time what somebody else assigned: the scheduler of another hub, while
// this one waits for its turn.
package reserve
