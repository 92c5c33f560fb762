// Package pods finds the pods of an application in its clusters, reads their logs and runs commands in them. It reaches
// members through the hub, over the line that each cluster's agent keeps open.
//
// Its cores are pure:
//
//	owned     pods, and the objects between them and their workload -> the pods of the workload, and their state
//	loglines  the log of a container                                -> its lines
//
//	Reads:     objects, pods and logs of members, with the credentials of the user.
//	Writes:    nothing, apart from what commands in pods do.
//	Owns:      nothing.
//	Invariant: all requests use the given credentials. A cluster that cannot be reached is reported, and does
//	           not fail the others. All reads are bounded, and no goroutine outlives the context.
//	Next:      hub/cli and hub/people/dashboard show the results.
package pods
