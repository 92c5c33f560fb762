// Package hints decides which bindings a change of a cluster affects, and with which priority a binding is enqueued.
package hints
