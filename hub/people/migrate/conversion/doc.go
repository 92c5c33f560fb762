// Package conversion has the input and output of the conversions from other systems: objects with the files that they
// came from, and converted objects with findings.
package conversion
