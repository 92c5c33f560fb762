package story

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Story is a text, read.
type Story struct {
	// About says what it is about.
	About string
	// Setup are the words of the lines that say what there is.
	Setup [][]string
	// Lines are what happens, by time.
	Lines []Line
	// Golden is what happened when it was told last.
	Golden string
}

// Line is what happens at a time.
type Line struct {
	// Number is that of the line in the text, from 1.
	Number int
	// At is since the beginning of the story.
	At time.Duration
	// Words are those behind the time; there is at least one.
	Words []string
}

// Read reads a story. A line that begins with one of the words of setup says what there is.
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

// String is a story as a file has it.
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

// Options are the words of the form key=value.
func Options(words []string) map[string]string {
	out := map[string]string{}
	for _, w := range words {
		if key, value, found := strings.Cut(w, "="); found {
			out[key] = value
		}
	}
	return out
}
