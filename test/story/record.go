package story

import (
	"fmt"
	"strings"
	"time"
)

// Record is the log of a world. The zero value is empty.
type Record struct {
	// Trace has one line per event.
	Trace  strings.Builder
	broken []string
}

// Told returns the trace.
func (r *Record) Told() string { return r.Trace.String() }

// Broken returns the violated properties.
func (r *Record) Broken() []string { return r.broken }

// Break records a violated property at a time since the beginning, with the end of the trace.
func (r *Record) Break(after time.Duration, format string, args ...any) {
	r.broken = append(r.broken, fmt.Sprintf("at %s: ", after)+fmt.Sprintf(format, args...)+tail(r.Told()))
}

// last is the number of lines of the trace that are shown.
const last = 25

// tail returns the end of the trace.
func tail(told string) string {
	lines := strings.Split(strings.TrimSpace(told), "\n")
	return "\n" + strings.Join(lines[max(0, len(lines)-last):], "\n")
}
