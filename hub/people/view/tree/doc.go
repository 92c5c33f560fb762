// Package tree shows the path of an application from its template to the objects in the members, as a tree with the
// state of each step. It is pure.
package tree
