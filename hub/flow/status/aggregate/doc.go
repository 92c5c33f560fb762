// Package aggregate decides the status of a binding from what its clusters report.
package aggregate
