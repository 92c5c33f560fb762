// Package decide places one application: given a binding and the clusters that there
// are, it says which of them get it, with how many replicas, and why the others do
// not. It is a pure function, so that a decision can be explained afterwards.
package decide
