package story

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// restartDelay is how long after a line the hub is restarted: things are on their way then.
const restartDelay = 7 * time.Second

// Variant is a way of telling a story.
type Variant struct {
	// Order is the seed of the order in which stages take turns; 0 is that of the flow.
	Order uint64
	// Restart is the number of the line after which the hub is restarted; 0 is none.
	Restart int
	// Late has what one stage writes reach another one late, where the world knows that.
	Late bool
}

// Rand is the source of the order; nil for that of the flow.
func (v Variant) Rand() *rand.Rand {
	if v.Order == 0 {
		return nil
	}
	return rand.New(rand.NewPCG(v.Order, v.Order))
}

// World is where a story happens.
type World interface {
	// SetUp does what a line of the setup says.
	SetUp(words []string) error
	// Advance has time pass, until so much has passed since the beginning.
	Advance(until time.Duration)
	// Do does what a line says, of which `restart` restarts the hub. An error of one that begins with
	// `expect` says what is not as it is to be; any other ends the story.
	Do(words []string) error
	// Told is what happened.
	Told() string
	// Broken is what happened that must never happen.
	Broken() []string
}

// Play has a story happen, and returns which expectations were not met.
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
