package main

import (
	"fmt"
	"strings"
)

// bars are what was promised, beside what was measured.
type bars struct{ rows []bar }

type bar struct {
	what           string
	measured, most float64
	unit           string
}

// put tells a figure, and what it may be at the most.
func (b *bars) put(what string, measured, most float64, unit string) {
	row := bar{what, measured, most, unit}
	b.rows = append(b.rows, row)
	progress("%s: %s, bar %s, %s", what, row.measure(measured), row.measure(most), row.verdict())
}

func (b bar) measure(v float64) string { return strings.TrimSpace(figure(v) + " " + b.unit) }

func (b bar) verdict() string {
	if b.measured <= b.most {
		return "ok"
	}
	return "MISSED"
}

// String returns the table in Markdown; empty if there is none.
func (b *bars) String() string {
	if len(b.rows) == 0 {
		return ""
	}
	out := &strings.Builder{}
	line(out, "what", []string{"measured", "bar", "ok"})
	line(out, "---", make([]string, 3))
	for _, row := range b.rows {
		line(out, row.what, []string{row.measure(row.measured), row.measure(row.most), row.verdict()})
	}
	return fmt.Sprintf("\n%s", out)
}
