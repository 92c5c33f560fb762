// Package conversion is what every conversion from another system begins and ends with: objects
// and the files that they are from, and objects with what there is to tell about them.
package conversion
