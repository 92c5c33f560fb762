package health

import "time"

// Seen is what whoever holds the lines says of those of one cluster.
type Seen struct {
	// Up says that there is one, and Since tells that line from others: since when, by whosever clock.
	Up    bool
	Since time.Time
	// Goodbye says that the last one ended as announced.
	Goodbye bool
}

// Track is what became of the lines of one cluster, by the clock of who looks.
type Track struct {
	Line Line

	since time.Time
}

// Next takes over what is seen now. A line that was lost and is back before anybody looked was lost no less; one that was
// gone when it was first looked for is as good as none.
func (t Track) Next(seen Seen, now time.Time) Track {
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
