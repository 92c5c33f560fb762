// Package ask decides what a WorkloadRebalancer asks of bindings, and what is said about
// it.
package ask
