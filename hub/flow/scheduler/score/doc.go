// Package score says how much one cluster is preferred to another. A scorer is a
// value: a name and a pure function.
package score
