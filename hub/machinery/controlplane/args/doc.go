// Package args renders the command lines of the components. It decides what a hub and a cluster are made of, and does
// no I/O.
package args
