// Package joining tests, with the built programs, how an operator joins a cluster and makes it leave: through a proxy,
// with the agent as a process, and with the agent inside the member.
package joining
