package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
		case slices.Contains([]string{"cluster", "strategy", "wave", "app"}, words[0]):
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

// variant is a way of telling a story.
type variant struct {
	// order is the seed of the order in which stages take turns; 0 is that of the flow.
	order uint64
	// restart is the number of the line after which the hub is restarted; 0 is none.
	restart int
	// slow has the binding stage see each status late.
	slow bool
}

// restartDelay is how long after a line the hub is restarted: things are on their way then.
const restartDelay = 7 * time.Second

// play tells a story, and returns what happened, which expectations were not met and what
// happened that must never happen.
func play(s *story, v variant) (trace string, unmet, broken []string, err error) {
	w, unmet, err := s.play(v)
	if err != nil {
		return "", nil, nil, err
	}
	return w.trace.String(), unmet, w.broken, nil
}

// play returns the world at the end of the story.
func (s *story) play(v variant) (*world, []string, error) {
	var unmet []string
	var r *rand.Rand
	if v.order > 0 {
		r = rand.New(rand.NewPCG(v.order, v.order))
	}
	w := newWorld(r)
	w.slow = v.slow
	for _, words := range s.setup {
		if err := w.setUp(words); err != nil {
			return nil, nil, err
		}
	}
	lines := slices.Clone(s.lines)
	for _, l := range s.lines {
		if l.number == v.restart {
			lines = append(lines, line{l.number, l.at + restartDelay, []string{"restart"}})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return int(a.at - b.at) })
	for _, l := range lines {
		w.advance(begin().Add(l.at))
		if err := w.do(l.words); err != nil {
			if l.words[0] != "expect" {
				return nil, nil, fmt.Errorf("line %d: %w", l.number, err)
			}
			unmet = append(unmet, fmt.Sprintf("line %d, at %s: %v%s", l.number, l.at, err, w.tail()))
		}
	}
	w.settle()
	return w, unmet, nil
}
