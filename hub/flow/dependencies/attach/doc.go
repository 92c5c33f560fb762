// Package attach computes the dependencies of a workload: which objects its references mean, and what the bindings of these objects contain
// because of it. It is pure.
package attach
