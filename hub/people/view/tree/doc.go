// Package tree follows an application from its template to the objects in the members: a
// tree that says at each step whether it went well. It is pure.
package tree
