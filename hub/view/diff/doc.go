// Package diff says what differs between two objects, as people read it. It is pure.
package diff
