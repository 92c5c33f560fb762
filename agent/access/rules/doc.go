// Package rules decides what operators of the hub may do in a member: the owner's rules (Rules), the request as the
// member's API server will interpret it (Parse), and whether the rules allow the request (Decide). A request that it
// cannot interpret is refused. It is pure.
//
// RBAC in the member enforces the same as far as RBAC can express it; the agent's chart creates it.
package rules
