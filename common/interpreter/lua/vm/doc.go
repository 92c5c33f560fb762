// Package vm runs a function of a Lua script on objects of Kubernetes.
//
// A Script is compiled once and may be called by many goroutines. Every call sees only
// what the script itself defines: it gets an environment of its own, and the libraries
// cannot be changed. What a script can reach is what opens its sandbox (sandbox.go):
// base, string, table, math, os.time and os.date, and modules that are required by name: kube
// knows quantities and pods, clusters adds up what thousands of clusters report.
//
// What a call may cost is bounded: a second of a processor's time, which gopher-lua asks the
// budget for before every instruction (budget.go), and memory, which is metered (meter.go) by
// what the script says rather than by what the process happens to use, so that a script that is
// too greedy is so on every machine. All scripts of a process share a Limiter (limiter.go).
//
// Objects go in and out by encode.go and decode.go. The table of an object is filled when
// the script first looks at it (memory.go), as most look at a few fields of many. What Lua
// cannot tell apart survives if the script leaves it alone: an empty object and an empty
// list, and whole numbers that no float64 holds.
package vm
