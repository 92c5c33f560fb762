// Package registration joins a member to a hub, and keeps the resulting credentials valid.
//
//	Reads:     cluster-info of the hub, the namespace kube-system of the member, the hub's answer to its certificate
//	           signing request.
//	Writes:    the certificate signing request; condition LeaveRequested of the Cluster; the state directory.
//	Owns:      the state directory except the journal: agent.json (the identity and the hub's address), agent.key (while a
//	           request is pending), hub.kubeconfig (once it is granted), renewal.key (while a renewal is pending),
//	           retired.json (the hub's statement that it forgot this member), refused.json (since when the hub refuses this
//	           agent) and agent.lock (held by the running agent).
//	Invariant: the key is on disk before anybody is asked to certify it, and hub.kubeconfig is either complete or
//	           missing. The key never leaves the member.
//	Next:      the other stages of the agent, with hub.kubeconfig.
//
// A join may be interrupted at any point and repeated: the name of the request is derived from the key, so the same
// request is found again, and the hub goes on with it although its token has been used by then.
package registration
