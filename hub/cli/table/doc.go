// Package table lays out what commands print for people: columns as wide as they need to be,
// in colour where the output is a terminal. It is pure.
package table
