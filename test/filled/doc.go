// Package filled gives benchmarks a hub's cache filled as by thousands of clusters: the real cache, with its transforms
// and indexes, fed by an in-process server that serves objects and rejects writes.
package filled
