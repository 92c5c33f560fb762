// Package registration lets members join the hub, and gives their agents what they may
// do there.
//
//	Reads:     certificate signing requests of agents, join tokens (live), Clusters,
//	           execution namespaces.
//	Writes:    approvals and denials, and deletions of requests that flood; on a token, by
//	           whom and for which request it was used; Clusters that are new, and the
//	           deletion of those that leave; conditions SeveralAgents and RightsWithheld of
//	           Clusters; roles and leases of agents, and the namespace of the leases.
//	Owns:      spec.id of a Cluster, the existence of its lease, the rights of its agent,
//	           these conditions.
//	Invariant: a token yields one certificate. It is marked as used before anything is
//	           made with it, and the certificate is approved after everything is there.
//	Next:      the signer of the API server, then the agent.
//
// A join is four writes: the token is marked, the Cluster is made, the rights are made
// (for which the cluster stage makes the execution namespace), the request is approved.
// The hub may stop between any two: the token remembers for which request it was used,
// so the same request goes on and no other can.
package registration
