// Package native is the last layer of the interpreter: what the kinds of Kubernetes
// itself mean. Each file holds the kinds that belong together, each kind is one entry
// of the table in native.go, and each entry is a handful of pure functions.
//
// To add a kind, write its functions and its entry, and add it to the tables of the tests.
// A kind without an entry has its whole status reflected and nothing else; how its objects
// fare is for interpreter.ConventionalHealth to say.
package native
