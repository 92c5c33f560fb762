// Package record defines what the hub records in annotations of a Cluster: how its member joined, which certificate its
// agent has, and that it was forgotten. It is pure.
package record
