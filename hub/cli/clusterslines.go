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

// lines reads the lines of clusters. If the hub has none, or the person may not see them, it returns none, as with an
// older hub, and everything else is shown.
func (o *opened) lines(ctx context.Context) map[string]pods.Line {
	lines, err := o.members.Lines(ctx)
	if err != nil {
		return nil
	}
	return lines
}

// The columns of lines, and the columns that they follow.
const (
	lineColumn      = "LINE"
	operatorsColumn = "OPERATORS"
	lagColumn       = "LAG"
	remarkColumn    = "REMARK"
)

// addLines adds the lines of clusters to their table, unless the hub has none. A cluster with an open line was just
// heard from, however old its lease is. For one without, the agent's own explanation is shown.
func addLines(t *table.Table, fleet []clusters.Cluster, lines map[string]pods.Line, now time.Time) {
	if lines == nil || len(lines) == 0 && !slices.ContainsFunc(fleet, func(c clusters.Cluster) bool { return noLine(c) != "" }) {
		return
	}
	named := func(name string) int {
		return slices.IndexFunc(t.Columns, func(c table.Column) bool { return c.Name == name })
	}
	lag := named(lagColumn)
	t.Columns = slices.Insert(t.Columns, lag+1, table.Column{Name: lineColumn})
	operators := named(remarkColumn) // before the remarks
	t.Columns = slices.Insert(t.Columns, operators, table.Column{Name: operatorsColumn})
	for i, c := range fleet { // the table has a row for each cluster
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

// noLine returns the agent's own explanation of why it has no line to the hub; empty if there is none.
func noLine(c clusters.Cluster) string {
	if c.Report == nil {
		return ""
	}
	return strings.TrimSuffix(prose.OneLine(c.Report.NoLine), ".")
}

// ago returns the age of a time that the hub wrote; a dash if there is none.
func ago(now time.Time, text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "-"
	}
	return age(max(now.Sub(at), 0))
}

// describeLine prints the state of a cluster's line.
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
