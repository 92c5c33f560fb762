// Package snapshot keeps the clusters as decisions read them: sorted by name, brought
// up to date one cluster at a time, and never changed under a reader.
package snapshot
