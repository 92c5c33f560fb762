package story

import (
	"fmt"
	"strings"
	"time"
)

// Record is what a world writes down. The zero value is an empty one.
type Record struct {
	// Trace is what happened, a line each.
	Trace  strings.Builder
	broken []string
}

// Told is what happened.
func (r *Record) Told() string { return r.Trace.String() }

// Broken is what happened that must never happen.
func (r *Record) Broken() []string { return r.broken }

// Break writes down what must never happen, so long after the beginning, with what happened last.
func (r *Record) Break(after time.Duration, format string, args ...any) {
	r.broken = append(r.broken, fmt.Sprintf("at %s: ", after)+fmt.Sprintf(format, args...)+tail(r.Told()))
}

// last is how many lines are shown of what happened last.
const last = 25

// tail is the end of what happened.
func tail(told string) string {
	lines := strings.Split(strings.TrimSpace(told), "\n")
	return "\n" + strings.Join(lines[max(0, len(lines)-last):], "\n")
}
