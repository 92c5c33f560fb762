// Package judge decides the state of one cluster with one revision. It is pure.
//
// It believes only reports on the generation of the Work that carries the revision: earlier health implies nothing about what was sent
// since.
package judge
