// Package merge aggregates the reports of many clusters about one object, for scripts that would take long to do it
// themselves. Whatever the clusters report, the result is bounded, and takes time in proportion to the input.
package merge
