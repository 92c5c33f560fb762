// Package view is what people see of a hub: applications, clusters, policies, explanations. Commands and dashboard both
// read it here, so that they show the same.
//
// A Reader reads with the rights of its client.Reader, which are those of the user, and writes nothing. Pure packages
// below convert what it reads; they can be used without a Reader:
//
//	applications  bindings and policies -> Applications, with clusters and states; what each policy matches, or why it matches nothing
//	clusters      a Cluster, its lease  -> a Cluster: lag, capacity, certificate
//	rollouts      a StagedRollout       -> a Rollout: its progress by wave and by cluster, and what to type next
//	tree          an application        -> the path from its template to the objects in the members, with the state of each step
//	diff          two objects or texts  -> their difference
//
//	Reads:     everything on the hub that the user may read.
//	Writes:    nothing.
//	Owns:      nothing.
//	Invariant: outdated information is shown as such, with its age; what the user may not read is reported as
//	           hidden, and never shown as empty.
//	Next:      hub/cli and hub/people/dashboard.
package view
