package meter

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Table is a Markdown table with aligned columns.
type Table struct{ rows [][]string }

// NewTable returns a table with a header.
func NewTable(head ...string) *Table { return &Table{rows: [][]string{head}} }

// Row adds a row. Missing cells at its end become dashes.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

func (t *Table) String() string {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), len("---"))
		}
	}
	out := &strings.Builder{}
	for i, row := range t.rows {
		t.line(out, row, widths)
		if i == 0 {
			t.line(out, slices.Repeat([]string{"---"}, len(widths)), widths)
		}
	}
	return out.String()
}

func (t *Table) line(out *strings.Builder, cells []string, widths []int) {
	for i, width := range widths {
		cell := "–"
		if i < len(cells) {
			cell = cells[i]
		}
		out.WriteString("| " + cell + strings.Repeat(" ", width-utf8.RuneCountInString(cell)+1))
	}
	out.WriteString("|\n")
}
