// Package fanout compares the Works that a binding should have with the existing ones, and decides what to create, change, delete and
// leave. It is pure.
//
// A binding owns a Work by its permanent id. It never touches a Work with another id, adopts one without an id, and waits for one that is
// being deleted.
package fanout
