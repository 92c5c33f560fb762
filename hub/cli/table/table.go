package table

import (
	"io"
	"strings"
	"unicode/utf8"

	"fairlead.dev/common/prose"
)

// Tone is the meaning of a cell, which is shown by its colour.
type Tone int

// Tones.
const (
	Plain Tone = iota
	Good
	Warn
	Bad
	Faint
)

// codes are the escape sequences of tones.
func (t Tone) code() string {
	switch t {
	case Good:
		return "\x1b[32m"
	case Warn:
		return "\x1b[33m"
	case Bad:
		return "\x1b[31m"
	case Faint:
		return "\x1b[2m"
	default:
		return ""
	}
}

const reset = "\x1b[0m"

// Codes are the escape sequences that Paint writes.
func Codes() []string {
	return []string{Good.code(), Warn.code(), Bad.code(), Faint.code(), reset}
}

// Paint returns text in a tone.
func (t Tone) Paint(text string) string {
	if code := t.code(); code != "" && text != "" {
		return code + text + reset
	}
	return text
}

// Cell is one value. An empty one is shown as a dash.
type Cell struct {
	Text string
	Tone Tone
}

// Column is the head of a column.
type Column struct {
	Name string
	// Wide says that it is shown with `-o wide` only.
	Wide bool
	// Cut is how many characters are shown of a longer value, but with `-o wide`; 0 is all.
	Cut int
}

// Table is rows under columns.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// Options say how a table is shown.
type Options struct {
	// Wide shows every column and whole values, Color paints tones.
	Wide, Color bool
}

// gap is how many spaces are between columns.
const gap = 2

// Write writes a table, its last column without spaces behind it.
func (t *Table) Write(w io.Writer, o Options) error {
	var shown []int
	for i, c := range t.Columns {
		if o.Wide || !c.Wide {
			shown = append(shown, i)
		}
	}
	widths := make([]int, len(t.Columns))
	lines := [][]Cell{make([]Cell, len(t.Columns))}
	for i, c := range t.Columns {
		lines[0][i] = Cell{Text: c.Name}
	}
	for _, row := range t.Rows {
		line := make([]Cell, len(t.Columns))
		for i := range t.Columns {
			line[i] = t.shown(row, i, o)
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	var out strings.Builder
	for _, line := range lines {
		for n, i := range shown {
			text := line[i].Text
			if o.Color {
				text = line[i].Tone.Paint(text)
			}
			out.WriteString(text)
			if n < len(shown)-1 {
				out.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(line[i].Text)+gap))
			}
		}
		out.WriteByte('\n')
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// shown returns the cell of a row as it is shown.
func (t *Table) shown(row []Cell, i int, o Options) Cell {
	if i >= len(row) || row[i].Text == "" {
		return Cell{Text: "-", Tone: Faint}
	}
	cell := row[i]
	cell.Text = prose.OneLine(cell.Text)
	if most := t.Columns[i].Cut; most > 0 && !o.Wide && utf8.RuneCountInString(cell.Text) > most {
		cell.Text = string([]rune(cell.Text)[:most-1]) + "…"
	}
	return cell
}
