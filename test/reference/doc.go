// Package reference writes the flags of a program down as a page, FLAGS.md beside it, and
// holds in a test that the page is that of today. `make generate` writes it anew.
package reference
