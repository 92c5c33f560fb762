// Package fanout compares the Works that a binding should have with those that there
// are, and says what to create, change, delete and leave. It is pure.
//
// A binding owns a Work by its permanent id. A Work of another id is never touched,
// one that belongs to nobody is adopted, and one that is being deleted is waited for.
package fanout
