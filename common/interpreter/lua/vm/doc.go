// Package vm runs functions of Lua scripts on Kubernetes objects.
//
// A Script is compiled once and may be called concurrently. Every call sees only what the script itself defines: it
// has its own environment, and the libraries cannot be changed. A script can reach only what its sandbox provides
// (sandbox.go): base, string, table, math, os.time and os.date, and modules that are required by name: kube handles
// quantities and pods, clusters aggregates the reports of thousands of clusters.
//
// The cost of a call is bounded: one second of CPU time, which gopher-lua checks with the budget before every
// instruction (budget.go), and memory, which is metered (meter.go) by what the script does rather than by what the
// process happens to use, so that an excessive script fails on every machine alike. All scripts of a process share a
// Limiter (limiter.go).
//
// Objects are converted by encode.go and decode.go. The table of an object is filled when the script first accesses
// it (memory.go), since most scripts access a few of many fields. Distinctions that Lua lacks survive if the script
// does not modify the value: empty objects and empty lists, and integers that a float64 cannot represent.
package vm
