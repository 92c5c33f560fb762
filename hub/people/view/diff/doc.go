// Package diff says what differs between two objects or two texts, as people read it. It is
// pure.
package diff
