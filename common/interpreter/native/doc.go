// Package native is the last layer of the interpreter: Go rules for the kinds of Kubernetes itself. Each file holds
// related kinds, each kind is one entry of the table in native.go, and each entry is a handful of pure functions.
//
// To add a kind, write its functions and its entry, and add it to the tables of the tests. A kind without an entry
// has its whole status reflected and nothing else; the health of its objects is determined by
// interpreter.ConventionalHealth.
package native
