// Package chart renders the agent's Helm chart without Helm, so that `agent join` and the chart are one source.
//
// It knows the part of the template language that this chart uses, and refuses anything else. Executing templates with
// the standard library's text/template instead would make the agent's binary a quarter larger: it calls methods by name, so
// the linker may leave none out. Parsing them costs nothing of that sort. The tests of test/install hold what comes out
// against what Helm makes of the same values.
package chart
