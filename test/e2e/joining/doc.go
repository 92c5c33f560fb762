// Package joining tests, with the built programs, what an operator does to let a cluster join
// and leave: through a proxy, as a process, inside the member.
package joining
