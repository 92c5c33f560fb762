// Package reason sorts what clusters say when they refuse an object into a few reasons. It is
// pure.
package reason
