// Command connect measures what the way of operators into members costs, beside what was promised of it: how long a request
// takes through a line and without, how many bytes pass, whether big files arrive as they were, what idle lines and open streams take of
// memory, how soon lines are back when their hub was restarted, and, if asked, whether commands bear a long silence behind a proxy.
//
// One member is real, with an API server, a kubelet that answers logs, and an agent. The other lines are of hollow agents
// in this process, which answer each request themselves. All share the machine. What idle lines take of the hub and its API server is
// what lives in their heaps and stacks; what the two have of the machine besides depends on what they did before.
//
//	connect --lines 500
package main
