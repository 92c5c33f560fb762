// Package decide places one application: given a binding and the clusters, it decides which clusters get the application with how many
// replicas, and why the others do not. It is a pure function, so that decisions can be explained afterwards.
package decide
