// Package limit counts what is open on lines, and refuses what would be too much: API servers neither time requests
// through lines nor queue them. It only counts.
package limit
