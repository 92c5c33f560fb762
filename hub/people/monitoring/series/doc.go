// Package series makes the values that the metrics show: it sorts what clusters say when they
// refuse an object into a few reasons, and says how long it took from a change until all
// clusters had applied it. It is pure: what is seen and when in, values out.
package series
