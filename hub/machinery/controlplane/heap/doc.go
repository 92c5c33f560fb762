// Package heap lets the garbage collector of a program run more rarely where the machine has memory: a fifth of the
// time of an API server is the search for garbage otherwise.
package heap
