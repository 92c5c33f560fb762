// Package e2e tests the built programs as an operator meets them: a hub and three members
// in processes of their own, joined by token, the examples on them, mistakes at the
// command line, and processes that are killed.
//
// All tests use one fleet, one after the other.
package e2e
