// Command reconnect measures how long it takes until all agents are Ready again after their hub
// was away for longer than their leases last, and how many of their requests its API refuses.
//
// The hub is real, and so is what an agent is to it: each joins with a token, has a certificate,
// connection and lease of its own, watches its Works and its Cluster, and writes the status of
// its Cluster with the code of the agent. What is not real are the members: one HTTP server
// in this process answers for all of them, and nothing is applied. All agents share this one
// process, which shares the machine with the hub.
//
//	reconnect --agents 500
package main
