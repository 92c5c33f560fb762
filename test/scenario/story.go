package scenario

import (
	"fmt"
	"strings"
	"time"
)

// story is a text, read.
type story struct {
	about  string
	setup  [][]string
	lines  []line
	golden string
}

// line is what happens at a time.
type line struct {
	number int
	at     time.Duration
	words  []string
}

// read reads a story.
func read(text string) (*story, error) {
	s := &story{}
	told, golden, _ := strings.Cut(text, "\n---\n")
	s.golden = golden
	for i, raw := range strings.Split(told, "\n") {
		if s.about == "" && strings.HasPrefix(raw, "# ") {
			s.about = strings.TrimPrefix(raw, "# ")
		}
		raw, _, _ = strings.Cut(raw, "#")
		words := strings.Fields(raw)
		switch {
		case len(words) == 0:
		case words[0] == "cluster" || words[0] == "app":
			s.setup = append(s.setup, words)
		default:
			at, err := time.ParseDuration(words[0])
			if err != nil || len(words) < 2 {
				return nil, fmt.Errorf("line %d: %q begins with no time", i+1, raw)
			}
			if n := len(s.lines); n > 0 && at < s.lines[n-1].at {
				return nil, fmt.Errorf("line %d: %s is before the line above", i+1, words[0])
			}
			s.lines = append(s.lines, line{number: i + 1, at: at, words: words[1:]})
		}
	}
	return s, nil
}

// options are the words of the form key=value, and those without a value.
func options(words []string) map[string]string {
	out := map[string]string{}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		out[key] = value
	}
	return out
}
