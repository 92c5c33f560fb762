// Package karmada converts what a Karmada control plane holds into what this hub is given: the
// same objects without what the old machinery wrote on them, and bindings that say where
// everything is, so that nothing moves.
//
// It also renders what this hub would send to each member and compares it with what was sent.
package karmada
