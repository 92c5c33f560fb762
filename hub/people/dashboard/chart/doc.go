// Package chart keeps some measures of the last hour in memory, a fixed number of samples of
// each, and draws them as small SVG plots, whose classes are those of the page's style sheet.
// It is pure: whoever has a clock adds the samples.
package chart
