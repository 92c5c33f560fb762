// Package table formats tables for people: columns as wide as needed, in colour if the output is a terminal. It is
// pure.
package table
