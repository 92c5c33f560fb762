// Package filter says which clusters may have an application, and why others may
// not. A filter is a value: a name and a pure function.
package filter
