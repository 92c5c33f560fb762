// Package track says how long it took from a change until all clusters had applied it. It is
// pure: what is seen and when in, durations out.
package track
