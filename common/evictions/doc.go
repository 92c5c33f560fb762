// Package evictions handles the history of evictions that a binding keeps in annotations: which clusters its
// application left and why, what is kept when there is little room, and what follows from it. It is pure.
package evictions
