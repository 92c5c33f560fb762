// Package lapse says which taints of a cluster were put there by policies, and which of
// these are about to go, because what they were put there for is over. A cluster that is
// back is Ready before its taints are gone, and nothing is to be moved away in between.
package lapse
