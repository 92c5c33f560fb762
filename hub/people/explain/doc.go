// Package explain says in words why an application is where it is, or why it is not:
// which policy has it, what was decided about each cluster, and what came of it there.
// It is pure: facts in, a report out, and the report as text.
package explain
