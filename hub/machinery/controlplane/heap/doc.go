// Package heap makes garbage collection less frequent while the machine has memory: otherwise it takes a fifth of an
// API server's CPU time.
package heap
