// Package headers decides which headers of requests and answers pass between operators and members, and sets those
// with which hub and agent identify the operator. It is pure.
//
// A request passes ToAgent in the hub and ToMember in the agent, its answer FromMember and ToOperator. Both ends
// remove from a request what could be taken for a credential, or for a statement of an intermediary: neither relies
// on the other. Of an answer only headers that Kubernetes clients read reach the operator: a member belongs to
// somebody else, and its answers must not make a browser or kubectl send credentials elsewhere.
package headers
