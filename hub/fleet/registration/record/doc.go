// Package record is what the hub writes onto a Cluster about how its member joined, with
// which certificate its agent comes, and that it was forgotten. It only thinks.
package record
