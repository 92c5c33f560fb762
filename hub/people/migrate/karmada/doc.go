// Package karmada converts the objects of a Karmada control plane for this hub: the same objects without what the old
// control plane wrote to them, and bindings that preserve all placements, so that nothing moves.
//
// It also renders what this hub would send to each member, and compares it with what was sent.
package karmada
