// Package registration makes a member known to a hub, and keeps what it got for it.
//
//	Reads:     cluster-info of the hub, the namespace kube-system of the member, the
//	           answer of the hub to its certificate signing request.
//	Writes:    the certificate signing request; condition LeaveRequested of the Cluster;
//	           the state directory.
//	Owns:      the state directory but for the journal: agent.json (as whom, where),
//	           agent.key (while a request is under way), hub.kubeconfig (once it is
//	           granted), renewal.key (while a renewal is under way), retired.json (the
//	           hub's word that it forgets this member), refused.json (since when the hub
//	           refuses this agent) and agent.lock (one agent at a time).
//	Invariant: the key is on disk before anybody is asked to certify it, and
//	           hub.kubeconfig is either whole or not there. The key never leaves the
//	           member.
//	Next:      the other stages of the agent, with hub.kubeconfig.
//
// A join may be stopped at any point and started again: the name of the request is made
// of the key, so the same request is found again, and the hub goes on with it although
// its token is used by then.
package registration
