// Command connect measures the cost of operators' access to members through the hub, and compares it with the targets:
// latency of a request through a line and without one, bytes on the wire, integrity of large files, memory of idle
// lines and open streams, how soon lines reconnect after the hub restarts, and, if asked, whether a command survives a
// long silence behind a proxy.
//
// One member is real: it has an API server, a kubelet that answers logs, and an agent. The other lines belong to hollow
// agents in this process, which answer each request themselves. Everything shares one machine. The memory of idle lines
// is measured as live heap and stacks of the hub and its API server, because their resident memory depends on what they
// did before.
//
//	connect --lines 500
package main
