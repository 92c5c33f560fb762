// Package access serves the requests of operators that the hub sends over the agent's line: it checks them against
// the rules of the member's owner, and forwards them to the member's API as the operator.
//
//	Reads:     the ConfigMap fairlead-connect in the member, which holds the owner's rules, and the annotation of the Secret
//	           fairlead-agent with the owner's last word.
//	Writes:    files in the directory access of the state directory, which record who did what.
//	Owns:      those files; tokens of the ServiceAccount fairlead-connect, in memory only.
//	Invariant: no request runs with the agent's own rights, reaches a server other than the member's API, or continues
//	           after the owner revoked the permission for it. Rules that somebody other than the owner restored admit
//	           nobody. Nothing beyond reads happens unrecorded. To decide on a warning, the agent reads only in the
//	           operator's name, and only a bounded part of an answer.
//	Next:      the member's API, whose RBAC decides about the operator.
package access
