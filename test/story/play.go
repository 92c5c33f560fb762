package story

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// restartDelay is the time from a line to the restart of the hub, in which changes are in flight.
const restartDelay = 7 * time.Second

// Variant is a way of playing a story.
type Variant struct {
	// Order is the seed of the order of stages; 0 is the order of the flow.
	Order uint64
	// Restart is the number of the line after which the hub is restarted; 0 means none.
	Restart int
	// Late delays the writes of one stage for another, if the world supports that.
	Late bool
}

// Rand is the source of the order; nil for the order of the flow.
func (v Variant) Rand() *rand.Rand {
	if v.Order == 0 {
		return nil
	}
	return rand.New(rand.NewPCG(v.Order, v.Order))
}

// World is the simulated system of a story.
type World interface {
	// SetUp executes a line of the setup.
	SetUp(words []string) error
	// Advance lets time pass up to a duration since the beginning.
	Advance(until time.Duration)
	// Do executes a line; `restart` restarts the hub. An error of a line that begins with `expect` describes an unmet
	// expectation; any other error ends the story.
	Do(words []string) error
	// Told returns the trace.
	Told() string
	// Broken returns the violated properties.
	Broken() []string
}

// Play plays a story, and returns the unmet expectations.
func (s *Story) Play(w World, v Variant) (unmet []string, err error) {
	for _, words := range s.Setup {
		if err := w.SetUp(words); err != nil {
			return nil, err
		}
	}
	lines := slices.Clone(s.Lines)
	if i := slices.IndexFunc(lines, func(l Line) bool { return l.Number == v.Restart }); i >= 0 {
		lines = append(lines, Line{v.Restart, lines[i].At + restartDelay, []string{"restart"}})
	}
	slices.SortStableFunc(lines, func(a, b Line) int { return int(a.At - b.At) })
	for _, l := range lines {
		w.Advance(l.At)
		if err := w.Do(l.Words); err != nil {
			if l.Words[0] != "expect" {
				return nil, fmt.Errorf("line %d: %w", l.Number, err)
			}
			unmet = append(unmet, fmt.Sprintf("line %d, at %s: %v%s", l.Number, l.At, err, tail(w.Told())))
		}
	}
	return unmet, nil
}
