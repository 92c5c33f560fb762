// Package registration lets members join the hub, and gives their agents their rights.
//
//	Reads:     certificate signing requests of agents, join tokens (live), Clusters, execution namespaces.
//	Writes:    approvals and denials of requests, and the deletion of requests that flood the hub; on a
//	           token, who used it for which request; new Clusters, and the deletion of those that leave;
//	           the conditions SeveralAgents and RightsWithheld of Clusters; the roles and leases of
//	           agents, and the namespace of the leases.
//	Owns:      spec.id of a Cluster, the existence of its lease, the rights of its agent, and these conditions.
//	Invariant: each use of a token yields one certificate. The token is marked as used before anything is
//	           created with it, and the certificate is approved only after everything exists.
//	Next:      the signer of the API server, then the agent.
//
// A join takes four writes: the token is marked, the Cluster is created, the rights are created (in the execution
// namespace, which the cluster stage creates), and the request is approved. The hub may stop between any two: the token
// records the request that it was used for, so that request can go on, and no other can use the token.
package registration
