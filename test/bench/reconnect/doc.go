// Command reconnect measures how long it takes until all agents are Ready again after the hub was away for longer than
// their leases last, and how many of their requests its API rejects.
//
// The hub is real, and so is an agent as far as the hub can see: each joins with a token, has its own certificate,
// connection and lease, watches its Works and its Cluster, and writes the status of its Cluster with the agent's code.
// The members are not real: one HTTP server in this process answers for all of them, and nothing is applied. All agents
// share this process, which shares the machine with the hub.
//
//	reconnect --agents 500
package main
