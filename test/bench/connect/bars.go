package main

import (
	"fmt"
	"strings"
)

// bars are what was promised, beside what was measured.
type bars struct{ rows []bar }

type bar struct {
	what           string
	measured, want float64
	unit           string
	// least says that the promise is at least so much.
	least bool
}

// most tells a figure, and what it may be at the most.
func (b *bars) most(what string, measured, most float64, unit string) {
	b.put(bar{what: what, measured: measured, want: most, unit: unit})
}

// least tells a figure, and what it is to be at the least.
func (b *bars) least(what string, measured, least float64, unit string) {
	b.put(bar{what: what, measured: measured, want: least, unit: unit, least: true})
}

func (b *bars) put(row bar) {
	b.rows = append(b.rows, row)
	progress("%s: %.1f %s, bar %s, %s", row.what, row.measured, row.unit, row.promise(), row.verdict())
}

func (b bar) promise() string {
	if b.least {
		return fmt.Sprintf("≥ %g %s", b.want, b.unit)
	}
	return fmt.Sprintf("≤ %g %s", b.want, b.unit)
}

func (b bar) held() bool { return b.least == (b.measured >= b.want) || b.measured == b.want }

func (b bar) verdict() string {
	if b.held() {
		return "ok"
	}
	return "MISSED"
}

// held says whether all promises are.
func (b *bars) held() bool {
	for _, row := range b.rows {
		if !row.held() {
			return false
		}
	}
	return true
}

// String returns the table in Markdown.
func (b *bars) String() string {
	out := &strings.Builder{}
	fmt.Fprint(out, "\n| what | measured | bar | ok |\n|---|---|---|---|\n")
	for _, row := range b.rows {
		fmt.Fprintf(out, "| %s | %.1f %s | %s | %s |\n", row.what, row.measured, row.unit, row.promise(), row.verdict())
	}
	return out.String()
}
