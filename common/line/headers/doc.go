// Package headers says which headers of requests and answers pass between operators and members, and writes those by
// which hub and agent name the operator. It is pure.
//
// A request passes ToAgent in the hub and ToMember in the agent, its answer FromMember and ToOperator. Both ends take off a
// request what could be taken for a credential, or for the word of a program on the way: neither relies on the other. Of an
// answer nothing reaches the operator but what clients of Kubernetes read: a member is somebody else's, and what it says must
// not make a browser or kubectl send its credentials elsewhere.
package headers
