// Package prescribe decides which Remedies are about a Cluster.
package prescribe
