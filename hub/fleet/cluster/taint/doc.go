// Package taint decides which taints follow from a Cluster's Ready condition. It is pure. Taints that operators set are
// left alone, except that a NoExecute taint without a timeAdded gets one.
package taint
