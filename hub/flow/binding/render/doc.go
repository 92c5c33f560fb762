// Package render renders the Work that carries a template to one cluster. It is pure: equal input gives an equal Work, byte by byte, so
// that a hash shows whether a Work must be written.
package render
