// Package render makes the Work that carries a template to one cluster. It is pure:
// equal input gives an equal Work, byte by byte, so that the hub can tell by a hash
// whether a Work must be written.
package render
