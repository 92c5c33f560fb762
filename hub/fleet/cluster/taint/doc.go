// Package taint decides which taints a Cluster has for what its Ready condition says.
// It only thinks. Taints that operators set are not touched, except that one that
// evicts is told since when it does.
package taint
