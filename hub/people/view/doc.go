// Package view is what people see of a hub. Commands and dashboard show the same, since
// both read it here: applications, clusters, policies, explanations.
//
// A Reader reads with the rights of the client.Reader that it is given, which is that of
// the person who asks; it writes nothing. What is read is made into what is shown by pure
// packages below, which whoever has the objects already can use without a Reader:
//
//	applications  bindings and policies  -> an Application: where it is and how it fares; what each policy has, or why it has nothing
//	clusters      a Cluster, its lease   -> a Cluster: lag, capacity, certificate
//	rollouts      a StagedRollout        -> a Rollout: how far it is, by wave and by cluster, and what to type next
//	tree          an application         -> from its template to the objects in the members, and whether each step went well
//	diff          two objects or texts   -> what differs, as people read it
//
//	Reads:     everything on the hub that the person may read.
//	Writes:    nothing.
//	Owns:      nothing.
//	Invariant: what is old is shown as old, with the time since when; what the person may not
//	           read is missing and said to be, never shown as nothing.
//	Next:      hub/cli and hub/people/dashboard.
package view
