// Package pods finds the pods of an application in its clusters, and does there what operators do with pods: it reads
// their logs and runs commands in them. It goes through the hub, over the line that the agent of each cluster keeps
// open.
//
// What decides is pure and lies below:
//
//	owned     pods, and what is between them and their workload -> those of the workload, and how each fares
//	loglines  the log of a container                            -> its lines
//
//	Reads:     objects, pods and logs of members, with the credentials of the person who asks.
//	Writes:    nothing; a command in a pod does what it does.
//	Owns:      nothing.
//	Invariant: no request is made with other credentials than those it was given. One cluster that cannot be reached is a
//	           line in what is shown and not the end. Nothing is read without a bound, and no goroutine outlives the context.
//	Next:      hub/cli and hub/people/dashboard show it.
package pods
