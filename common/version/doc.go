// Package version tells what a program was built from, as far as the build recorded it, and which versions of hub and
// agent work together.
package version
