// Package chart renders the agent's Helm chart without Helm, so that `agent join` and the chart share one source.
//
// It supports the part of the template language that this chart uses, and refuses the rest. Executing the templates
// with the standard library's text/template would make the agent's binary a quarter larger: it calls methods by name,
// so that the linker cannot drop any. Parsing them has no such cost. The tests of test/install compare the result
// with Helm's output for the same values.
package chart
