// Package process runs the components as child processes: it restarts them when they stop, bounds their logs, stops
// them in order, and ensures that none outlives this process, however that ends.
package process
