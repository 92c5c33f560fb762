// Package e2e tests the built programs as an operator uses them: a hub and three members, each in its own process and
// joined by token, the examples on them, mistakes at the command line, and killed processes.
//
// All tests use one fleet, one after the other.
package e2e
