// Package hygiene says which headers of requests and answers pass between operators and members, and writes those by
// which hub and agent name the operator. It only thinks.
//
// Of a request everything passes but what could be taken for a credential or for the word of a program on the way. Of an
// answer nothing passes but what clients of Kubernetes read: a member is somebody else's, and what it says must not make
// a browser or kubectl send its credentials elsewhere.
package hygiene
