package story

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Story is a parsed story.
type Story struct {
	// About is its description.
	About string
	// Setup are the words of the lines of the setup.
	Setup [][]string
	// Lines are the events, by time.
	Lines []Line
	// Golden is the trace of the last run.
	Golden string
}

// Line is an event with its time.
type Line struct {
	// Number is the line number in the text, from 1.
	Number int
	// At is the time since the beginning of the story.
	At time.Duration
	// Words are the words after the time, at least one.
	Words []string
}

// Read parses a story. A line that begins with a word of setup belongs to the setup.
func Read(text string, setup ...string) (*Story, error) {
	s := &Story{}
	told, golden, _ := strings.Cut(text, "\n---\n")
	s.Golden = golden
	for i, raw := range strings.Split(told, "\n") {
		if s.About == "" && strings.HasPrefix(raw, "# ") {
			s.About = strings.TrimPrefix(raw, "# ")
		}
		raw, _, _ = strings.Cut(raw, "#")
		words := strings.Fields(raw)
		switch {
		case len(words) == 0:
		case slices.Contains(setup, words[0]):
			s.Setup = append(s.Setup, words)
		default:
			at, err := time.ParseDuration(words[0])
			if err != nil || len(words) < 2 {
				return nil, fmt.Errorf("line %d: %q begins with no time", i+1, raw)
			}
			if n := len(s.Lines); n > 0 && at < s.Lines[n-1].At {
				return nil, fmt.Errorf("line %d: %s is before the line above", i+1, words[0])
			}
			s.Lines = append(s.Lines, Line{Number: i + 1, At: at, Words: words[1:]})
		}
	}
	return s, nil
}

// String returns the story as in its file.
func (s *Story) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", s.About)
	for _, words := range s.Setup {
		fmt.Fprintln(&b, strings.Join(words, " "))
	}
	for _, l := range s.Lines {
		fmt.Fprintln(&b, l.At, strings.Join(l.Words, " "))
	}
	return b.String()
}

// Options returns the words of the form key=value.
func Options(words []string) map[string]string {
	out := map[string]string{}
	for _, w := range words {
		if key, value, found := strings.Cut(w, "="); found {
			out[key] = value
		}
	}
	return out
}
