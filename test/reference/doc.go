// Package reference writes the flags of a program to a page, FLAGS.md beside it, and tests that the page is up to date.
// `make generate` regenerates it.
package reference
