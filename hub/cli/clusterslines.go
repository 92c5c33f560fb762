package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/common/prose"
	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/people/pods"
	"fairlead.dev/hub/people/view/clusters"
)

// lines reads how the lines of clusters are. A hub that has none, or does not let the person see them, is as one of before
// there were lines: everything else is shown.
func (o *opened) lines(ctx context.Context) map[string]pods.Line {
	lines, err := o.members.Lines(ctx)
	if err != nil {
		return nil
	}
	return lines
}

// Columns of lines, and behind which they are.
const (
	lineColumn      = "LINE"
	operatorsColumn = "OPERATORS"
	lagColumn       = "LAG"
	remarkColumn    = "REMARK"
)

// addLines adds what is known of the lines of these clusters to their table; nothing of a hub that has none. A cluster whose line
// is up was heard from just now, however old its lease is. Of one without, its agent says why.
func addLines(t *table.Table, fleet []clusters.Cluster, lines map[string]pods.Line, now time.Time) {
	if lines == nil || len(lines) == 0 && !slices.ContainsFunc(fleet, func(c clusters.Cluster) bool { return noLine(c) != "" }) {
		return
	}
	named := func(name string) int {
		return slices.IndexFunc(t.Columns, func(c table.Column) bool { return c.Name == name })
	}
	lag := named(lagColumn)
	t.Columns = slices.Insert(t.Columns, lag+1, table.Column{Name: lineColumn})
	operators := named(remarkColumn) // and remarks are behind it
	t.Columns = slices.Insert(t.Columns, operators, table.Column{Name: operatorsColumn})
	for i, c := range fleet { // the table has a row for each
		line, known := lines[c.Name]
		cell := table.Cell{}
		why := noLine(c)
		switch {
		case known && line.Up:
			cell = table.Cell{Text: "up " + ago(now, line.Since), Tone: table.Good}
			if t.Rows[i][lag].Tone == table.Plain {
				t.Rows[i][lag].Text = "0s"
			}
		case known:
			cell = table.Cell{Text: "down " + ago(now, line.Lost), Tone: table.Bad}
		case why != "":
			cell = table.Cell{Text: "none", Tone: table.Warn}
		}
		t.Rows[i] = slices.Insert(t.Rows[i], lag+1, cell)
		t.Rows[i] = slices.Insert(t.Rows[i], operators, table.Cell{Text: line.Operators})
		if remark := &t.Rows[i][operators+1]; why != "" && !line.Up {
			remark.Text = strings.TrimSpace(remark.Text + " No line: " + why + ".")
		}
	}
}

// noLine is why the agent of a cluster says that it has no line to the hub; empty if it does not say.
func noLine(c clusters.Cluster) string {
	if c.Report == nil {
		return ""
	}
	return strings.TrimSuffix(prose.OneLine(c.Report.NoLine), ".")
}

// ago says how long ago a time is that the hub wrote; a dash if it wrote none.
func ago(now time.Time, text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "-"
	}
	return age(max(now.Sub(at), 0))
}

// describeLine says how the line of one cluster is.
func describeLine(line func(key, format string, args ...any), state pods.LineState, now time.Time) {
	var parts []string
	if state.Known {
		word := "down"
		if state.Up {
			word = "up"
		}
		if !state.At.IsZero() {
			word += fmt.Sprintf(" since %s (%s)", state.At.Format(time.RFC3339), age(max(now.Sub(state.At), 0)))
		}
		parts = append(parts, word)
	}
	if state.Remark != "" {
		parts = append(parts, state.Remark)
	}
	if len(parts) > 0 {
		line("Line", "%s", strings.Join(parts, "; "))
	}
	if state.Operators != "" {
		line("Operators", "%s", state.Operators)
	}
}
