// Package owned says which pods are those of a workload, by their controllers, and how each fares. It is pure.
package owned
