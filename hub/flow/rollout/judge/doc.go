// Package judge says how one cluster fares with one revision. It is pure.
//
// It believes only what was reported about the very generation of the Work that carries the
// revision: what was healthy before says nothing about what was sent since.
package judge
