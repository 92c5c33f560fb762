package main

import (
	"fmt"

	"fairlead.dev/test/bench/meter"
)

// columns are named figures, with a column for each size.
type columns struct {
	// order has the names in order of appearance.
	order []string
	cells map[string]map[int]cell
}

type cell struct {
	value float64
	unit  string
}

// put sets a figure of a column.
func (c *columns) put(column int, what string, value float64, unit string) {
	if c.cells == nil {
		c.cells = map[string]map[int]cell{}
	}
	if c.cells[what] == nil {
		c.order = append(c.order, what)
		c.cells[what] = map[int]cell{}
	}
	c.cells[what][column] = cell{value, unit}
}

// table returns the figures. Those below a share of their column everywhere are summed up. The last column is the ratio
// of the last to the first figure: linear growth shows the ratio of the sizes in the header, quadratic growth its
// square.
func (c *columns) table(head string, sizes []size, least float64) *meter.Table {
	heads := []string{head}
	for _, s := range sizes {
		heads = append(heads, s.String())
	}
	first, last := sizes[0], sizes[len(sizes)-1]
	several := len(sizes) > 1
	if several {
		heads = append(heads, fmt.Sprintf("grows by (size: %.1f)", float64(last.bindings)/float64(first.bindings)))
	}
	t := meter.NewTable(heads...)
	row := func(what string, cells map[int]cell) {
		texts := []string{what}
		for i := range sizes {
			text := "–"
			if found, ok := cells[i]; ok {
				text = meter.Figure(found.value, found.unit)
			}
			texts = append(texts, text)
		}
		if several {
			texts = append(texts, growth(cells, len(sizes)))
		}
		t.Row(texts...)
	}
	few, others := c.rare(least)
	for _, what := range c.order {
		if !few[what] {
			row(what, c.cells[what])
		}
	}
	if len(few) > 0 {
		row(fmt.Sprintf("%d others", len(few)), others)
	}
	return t
}

// rare returns the rows that are below a share of their column everywhere, and their sums.
func (c *columns) rare(least float64) (few map[string]bool, others map[int]cell) {
	few, others = map[string]bool{}, map[int]cell{}
	totals := map[int]float64{}
	for _, cells := range c.cells {
		for i, cell := range cells {
			totals[i] += cell.value
		}
	}
	for what, cells := range c.cells {
		seldom := least > 0
		for i, cell := range cells {
			seldom = seldom && cell.value < least*totals[i]
		}
		if !seldom {
			continue
		}
		few[what] = true
		for i, one := range cells {
			others[i] = cell{others[i].value + one.value, one.unit}
		}
	}
	return few, others
}

// growth returns the ratio of the last of n figures to the first; empty if one is unknown.
func growth(cells map[int]cell, n int) string {
	first := cells[0]
	last, known := cells[n-1]
	if first.value <= 0 || !known {
		return ""
	}
	return fmt.Sprintf("%.1f", last.value/first.value)
}
