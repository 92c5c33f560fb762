// Package drain says what a Cluster that is being removed waits for.
package drain
