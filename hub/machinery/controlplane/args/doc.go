// Package args renders the command lines of the components. It decides which components a hub and a cluster have. It is
// pure.
package args
