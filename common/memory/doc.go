// Package memory sets the Go runtime's memory limit: the garbage collector works harder before the kernel kills a
// process that exceeds its container's limit. It also decides how much garbage is acceptable beside a large heap.
package memory
