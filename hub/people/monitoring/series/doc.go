// Package series computes values for metrics: it maps the messages with which clusters refuse objects to a few reasons,
// and computes how long it took until all clusters had applied a change. It is pure: observations and their times go
// in, values come out.
package series
