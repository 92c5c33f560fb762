package health

import "time"

// LineReport is a report, by the server that holds the lines, about the lines of one cluster.
type LineReport struct {
	// Up says that a line is open. Since is when it was opened, by the clock of the server that holds it, which identifies the line.
	Up    bool
	Since time.Time
	// Goodbye says whether the agent announced that it was closing the last line.
	Goodbye bool
}

// LineHistory has the times at which the lines of one cluster were opened and lost, by the clock of this process.
type LineHistory struct {
	Line Line

	since time.Time
}

// Next returns the history after a report. A line that was lost and replaced between two reports counts as lost; a line that was gone at
// the first report does not count.
func (t LineHistory) Next(seen LineReport, now time.Time) LineHistory {
	switch {
	case seen.Up && !t.Line.Up:
		t.Line.Since = now
	case seen.Up && !seen.Since.Equal(t.since):
		t.Line.Since, t.Line.Lost, t.Line.Goodbye = now, now, false
	case !seen.Up && t.Line.Up:
		t.Line.Lost, t.Line.Goodbye = now, seen.Goodbye
	}
	t.Line.Known, t.Line.Up, t.since = true, seen.Up, seen.Since
	return t
}
