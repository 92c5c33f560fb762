// Package access serves the requests of operators that the hub sends through the agent's line: it holds them against
// what the owner of the member allows, and makes them at the member's API as the operator.
//
//	Reads:     the ConfigMap fairlead-connect in the member, in which the owner's rules are, and the annotation of the Secret
//	           fairlead-agent with what the owner said last.
//	Writes:    files in the directory access of the state directory, which record who did what.
//	Owns:      those files; tokens of the ServiceAccount fairlead-connect, in memory only.
//	Invariant: no request runs with the agent's own rights, reaches another server than the member's API, or goes on
//	           after the owner took back what allowed it. Nobody is let in by rules that others than the owner put back. What
//	           more than reads is not done unrecorded. Nothing is read for a warning but in the operator's name, and of no
//	           answer more than a bounded head.
//	Next:      the member's API, whose RBAC decides about the operator.
package access
