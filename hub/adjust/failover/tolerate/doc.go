// Package tolerate says how long an application may stay in a cluster that is tainted
// NoExecute.
package tolerate
