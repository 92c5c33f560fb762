// Package integration tests hub and agents together, in one process, on real API servers:
// a template goes in on the hub, its object appears in the members, its status comes back.
package integration
