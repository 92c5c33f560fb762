// Package bind makes a binding say what its template and its policy ask for, and
// leaves what other stages own.
package bind
