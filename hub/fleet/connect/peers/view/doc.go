// Package view holds what a replica of the hub knows of the lines of the others, and derives from it whether a
// cluster's line is open, which replica holds it, what to send to other replicas, and what agents must use as their
// heartbeat. It is pure.
package view
