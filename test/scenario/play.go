package scenario

import (
	"fmt"
	"strconv"
	"time"

	"fairlead.dev/test/story"
)

// play plays a story, and returns the world at its end and the unmet expectations.
func play(s *story.Story, v story.Variant) (story.World, []string, error) {
	lines, err := unfold(s.Lines)
	if err != nil {
		return nil, nil, err
	}
	w := newWorld(v.Rand())
	unmet, err := (&story.Story{Setup: s.Setup, Lines: lines}).Play(w, v)
	return w, unmet, err
}

// unfold returns the lines to play.
func unfold(lines []story.Line) ([]story.Line, error) {
	var out []story.Line
	for _, l := range lines {
		if l.Words[0] != "flap" {
			out = append(out, l)
			continue
		}
		flaps, err := flap(l)
		if err != nil {
			return nil, err
		}
		out = append(out, flaps...)
	}
	return out, nil
}

// flap returns the lines that a flap line stands for.
func flap(l story.Line) ([]story.Line, error) {
	if len(l.Words) != 5 {
		return nil, fmt.Errorf("line %d: flap needs a cluster, two durations and how often", l.Number)
	}
	off, err1 := time.ParseDuration(l.Words[2])
	on, err2 := time.ParseDuration(l.Words[3])
	times, err3 := strconv.Atoi(l.Words[4])
	if err1 != nil || err2 != nil || err3 != nil {
		return nil, fmt.Errorf("line %d: flap needs a cluster, two durations and how often", l.Number)
	}
	var out []story.Line
	for i := range times {
		at := l.At + time.Duration(i)*(off+on)
		out = append(out, story.Line{Number: l.Number, At: at, Words: []string{"cut", l.Words[1]}},
			story.Line{Number: l.Number, At: at + off, Words: []string{"back", l.Words[1]}})
	}
	return out, nil
}
