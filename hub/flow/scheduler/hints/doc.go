// Package hints says which bindings a change of a cluster concerns, and which of the
// bindings that wait is placed first.
package hints
