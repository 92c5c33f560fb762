// Package merge adds up what many clusters report of one object, for scripts that would take
// long to do it themselves. Whatever clusters say, what comes out is bounded, and it takes time
// in proportion to what went in.
package merge
