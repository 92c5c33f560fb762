// Package rules decides what operators of the hub may do in a member: what its owner allows (Rules), what a request
// asks for as the member's API server will understand it (Parse), and whether the one has room for the other (Decide).
// What it cannot understand it refuses. It is pure.
//
// RBAC in the member says the same as far as RBAC can; the chart of the agent makes it.
package rules
