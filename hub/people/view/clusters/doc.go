// Package clusters describes the state of a cluster: its heartbeat, free capacity, Works, and the expiry of its agent's
// certificate. It is pure: what is known of the cluster goes in, what to show comes out.
package clusters
