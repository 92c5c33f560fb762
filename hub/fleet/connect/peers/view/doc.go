// Package view is what a replica of the hub knows of lines that others hold, and what follows: whether the line of a cluster is up, which replica
// holds it, what to tell others, and by what agents are to show that they are there.
package view
