// Package kinds holds the native interpreter to what real control planes take and say: the
// rules for the kinds of Kubernetes are pure and tested beside their code, but only an API
// server knows which statuses it refuses, and only controllers know which they write.
package kinds
