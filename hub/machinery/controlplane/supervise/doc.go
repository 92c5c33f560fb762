// Package supervise runs one control plane: it prepares the data directory, starts the components in order, and stops
// them in the reverse order.
package supervise
