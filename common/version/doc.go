// Package version says what a program was built from, as far as the build recorded it.
package version
