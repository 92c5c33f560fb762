package meter

import (
	"fmt"
	"math"
	"strings"
)

// Bars compare measurements with their targets.
type Bars struct {
	// Report prints one line of progress; nil prints nothing.
	Report func(format string, args ...any)

	rows []bar
}

// bar is one target.
type bar struct {
	what           string
	measured, want float64
	unit           string
	// least makes the target a minimum.
	least bool
}

// Most adds a figure and its maximum.
func (b *Bars) Most(what string, measured, most float64, unit string) {
	b.put(bar{what: what, measured: measured, want: most, unit: unit})
}

// Least adds a figure and its minimum.
func (b *Bars) Least(what string, measured, least float64, unit string) {
	b.put(bar{what: what, measured: measured, want: least, unit: unit, least: true})
}

func (b *Bars) put(row bar) {
	b.rows = append(b.rows, row)
	if b.Report != nil {
		b.Report("%s: %s, bar %s, %s", row.what, Figure(row.measured, row.unit), row.promise(), row.verdict())
	}
}

func (b bar) promise() string {
	if b.least {
		return "≥ " + Figure(b.want, b.unit)
	}
	return "≤ " + Figure(b.want, b.unit)
}

// held reports whether the target is met. Figures that are printed alike count as equal, since no measurement is more
// exact. NaN means that nothing was measured, which misses the target.
func (b bar) held() bool {
	if math.IsNaN(b.measured) {
		return false
	}
	return Figure(b.measured, b.unit) == Figure(b.want, b.unit) || b.least == (b.measured > b.want)
}

func (b bar) verdict() string {
	if b.held() {
		return "ok"
	}
	return "MISSED"
}

// Missed returns the number of missed targets.
func (b *Bars) Missed() int {
	n := 0
	for _, row := range b.rows {
		if !row.held() {
			n++
		}
	}
	return n
}

// String returns the table in Markdown; empty if there are no targets.
func (b *Bars) String() string {
	if len(b.rows) == 0 {
		return ""
	}
	t := NewTable("what was promised", "measured", "bar", "ok")
	for _, row := range b.rows {
		t.Row(row.what, Figure(row.measured, row.unit), row.promise(), row.verdict())
	}
	return t.String()
}

// Figure formats a number with three significant digits and its unit.
func Figure(v float64, unit string) string {
	text := ""
	switch {
	case v == 0:
		text = "0"
	case v >= 100 || v <= -100:
		text = fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		text = fmt.Sprintf("%.1f", v)
	case v >= 1 || v <= -1:
		text = fmt.Sprintf("%.2f", v)
	default:
		text = fmt.Sprintf("%.3f", v)
	}
	return strings.TrimSpace(text + " " + unit)
}
