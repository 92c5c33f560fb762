// Package api holds the Go types of the propagation API, a folder per group and
// version. They are plain values: no client, no defaulting code, nothing but the
// Kubernetes API machinery is imported, so that anybody may import them.
//
// DIFFERENCES.md beside this file lists where this implementation of the API
// behaves otherwise than the one from which the API comes, and why.
package api
