package table

import (
	"io"
	"strings"
	"unicode/utf8"

	"fairlead.dev/common/prose"
)

// Tone is the meaning of a cell, which is shown by its colour.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Good
	Warn
	Bad
	Faint
)

// code returns the escape sequence of a tone.
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

// Codes returns the escape sequences that Paint writes.
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

// Cell is a value. An empty one is shown as a dash.
type Cell struct {
	Text string
	Tone Tone
}

// Column is the heading of a column.
type Column struct {
	Name string
	// Wide says that it is only shown with `-o wide`.
	Wide bool
	// Cut truncates longer values to that many characters, except with `-o wide`; 0 means no limit.
	Cut int
}

// Table is a table.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// Options are the options of formatting.
type Options struct {
	// Wide shows all columns and complete values, and Color colours tones.
	Wide, Color bool
}

// gap is the number of spaces between columns.
const gap = 2

// Write writes a table, without spaces after the last column.
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

// shown returns a cell as it is shown.
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
