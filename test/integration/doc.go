// Package integration tests hub and agents together, in one process, on real API servers: a template is created on the
// hub, its object appears in the members, and its status returns.
package integration
