// Package setup puts the hub together: one manager with one cache, and the stages in the
// order in which data flows. It is the only package that knows them all.
//
// Reads: what the stages read, through one cache.
//
// Writes: nothing itself, but for the lease by which several hubs elect one.
//
// Owns: the manager and what its cache keeps.
//
// Invariant: the cache holds no manifests, no managed fields and no Secrets.
//
// Next: the stages; see the list in stages.go.
package setup
