package main

import (
	"fmt"
	"strings"
	"time"
)

// table has a line for each figure, with a column for each size.
type table struct {
	machine string
	when    time.Time
	copies  int
	lines   bool
	sizes   []size
	// order has the figures as they came up first.
	order   []string
	figures map[string][]string
	values  map[string][]float64
}

// begin begins a column.
func (t *table) begin(s size) { t.sizes = append(t.sizes, s) }

// put sets a figure of the current column.
func (t *table) put(scene, what string, value float64, unit string) {
	key := scene + ": " + what
	if t.figures == nil {
		t.figures, t.values = map[string][]string{}, map[string][]float64{}
	}
	if _, known := t.figures[key]; !known {
		t.order = append(t.order, key)
	}
	for len(t.figures[key]) < len(t.sizes) {
		t.figures[key], t.values[key] = append(t.figures[key], "–"), append(t.values[key], 0)
	}
	at := len(t.sizes) - 1
	t.figures[key][at], t.values[key][at] = figure(value)+" "+unit, value
	progress("%-70s %s", key, t.figures[key][at])
}

// figure has three digits that count.
func figure(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 100 || v <= -100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}

// String returns the table in Markdown. The last column says how much larger the last figure is than the
// first: what grows with the size has what the first line has, what grows with its square has its square.
func (t *table) String() string {
	out := &strings.Builder{}
	lines := "with lines"
	if !t.lines {
		lines = "without lines"
	}
	fmt.Fprintf(out, "\nHollow agents %s, applications to at most %d clusters each; %s; %s\n\n", lines, t.copies, t.machine, t.when.Format("2006-01-02"))
	first, last := t.sizes[0], t.sizes[len(t.sizes)-1]
	cells := []string{}
	for _, s := range t.sizes {
		cells = append(cells, fmt.Sprintf("%d agents, %d bindings", s.agents, s.bindings))
	}
	line(out, "what", append(cells, fmt.Sprintf("grows by (size: %.1f)", float64(last.bindings)/float64(first.bindings))))
	line(out, "---", make([]string, len(t.sizes)+1))
	for _, key := range t.order {
		growth := ""
		if v := t.values[key]; len(v) == len(t.sizes) && v[0] > 0 {
			growth = fmt.Sprintf("%.1f", v[len(v)-1]/v[0])
		}
		cells := append([]string{}, t.figures[key]...)
		for len(cells) < len(t.sizes) {
			cells = append(cells, "–")
		}
		line(out, key, append(cells, growth))
	}
	return out.String()
}

func line(out *strings.Builder, what string, cells []string) {
	fmt.Fprintf(out, "| %-72s |", what)
	for _, cell := range cells {
		if what == "---" {
			cell = "---"
		}
		fmt.Fprintf(out, " %-28s |", cell)
	}
	fmt.Fprintln(out)
}
