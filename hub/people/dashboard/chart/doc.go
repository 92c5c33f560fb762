// Package chart keeps measurements of the last hour in memory, a fixed number of samples each, and draws them as small
// SVG plots, whose classes are defined in the page's style sheet. It is pure: the caller provides the time of each
// sample.
package chart
