// Package explain explains in words why an application is placed where it is, or nowhere: which policy applies, what
// was decided about each cluster, and the state in each of them. It is pure: facts go in, a report comes out, and the
// report as text.
package explain
