package health

import "time"

// LineReport is a report, by the server that holds the lines, about the lines of one cluster.
type LineReport struct {
	// Up says that there is one, and Since tells that line from others: since when, by whosever clock.
	Up    bool
	Since time.Time
	// Goodbye says that the last one ended as announced.
	Goodbye bool
}

// LineHistory is when the lines of one cluster were opened and lost, by the clock of this process.
type LineHistory struct {
	Line Line

	since time.Time
}

// Next returns the history after a report. A line that was lost and is back before anybody asked counts as lost; one that was
// gone when it was first asked for counts for nothing.
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
