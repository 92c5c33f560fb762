// Package clusters says how a cluster fares: whether it is heard from, what it has free, how
// its Works stand, until when its agent's certificate holds. It is pure: what is known of
// the cluster in, what is shown out.
package clusters
