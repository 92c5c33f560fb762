package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// variant is a way of telling a story.
type variant struct {
	// order is the seed of the order in which stages take turns; 0 is that of the flow.
	order uint64
	// restart is the number of the line after which the hub is restarted; 0 is none.
	restart int
}

// restartDelay is how long after a line the hub is restarted: things are on their way then.
const restartDelay = 7 * time.Second

// play tells a story, and returns what happened, which expectations were not met and what
// happened that must never happen.
func play(s *story, v variant) (trace string, unmet, broken []string, err error) {
	var r *rand.Rand
	if v.order > 0 {
		r = rand.New(rand.NewPCG(v.order, v.order))
	}
	w := newWorld(r)
	for _, words := range s.setup {
		if err := w.setUp(words); err != nil {
			return "", nil, nil, err
		}
	}
	lines, err := unfold(s.lines, v)
	if err != nil {
		return "", nil, nil, err
	}
	for _, l := range lines {
		w.advance(begin().Add(l.at))
		if err := w.do(l.words); err != nil {
			if l.words[0] != "expect" {
				return "", nil, nil, fmt.Errorf("line %d: %w", l.number, err)
			}
			unmet = append(unmet, fmt.Sprintf("line %d, at %s: %v%s", l.number, l.at, err, w.tail()))
		}
	}
	return w.trace.String(), unmet, w.broken, nil
}

// unfold returns the lines that are to be played, by time.
func unfold(lines []line, v variant) ([]line, error) {
	var out []line
	for _, l := range lines {
		if l.words[0] != "flap" {
			out = append(out, l)
			continue
		}
		flaps, err := flap(l)
		if err != nil {
			return nil, err
		}
		out = append(out, flaps...)
	}
	if v.restart > 0 {
		for _, l := range lines {
			if l.number == v.restart {
				out = append(out, line{l.number, l.at + restartDelay, []string{"restart"}})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b line) int { return int(a.at - b.at) })
	return out, nil
}
