// Package kinds holds the native interpreter to what a real API server takes: the rules
// for the kinds of Kubernetes are pure and tested beside their code, but only an API
// server knows which statuses it refuses.
package kinds
