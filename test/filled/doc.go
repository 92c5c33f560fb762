// Package filled has the cache of a hub as full as that of thousands of clusters, for benchmarks: the real cache, with what it
// drops and its indexes, fed by a server in the process that has objects and takes no writes.
package filled
