// Package applications describes the state of an application: its targets, where it is applied, and what is wrong
// there. It is pure: a binding and the state of the clusters go in, what to show comes out.
package applications
