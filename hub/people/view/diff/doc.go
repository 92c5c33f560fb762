// Package diff shows people the difference between two objects or two texts. It is pure.
package diff
