package health

import (
	"slices"
	"time"
)

// How the line of an agent is judged, the connection that it keeps open to the hub.
const (
	// DefaultLineGrace is how long an agent may take to open its line again when it was lost.
	DefaultLineGrace = 3 * time.Second
	// linesAtOnce is within which time lines count as lost at once: the hub asks each agent whether it is there at
	// another moment, and gives up on each within ten seconds.
	linesAtOnce = 10 * time.Second
	// lossWindow is how long the loss of a line is remembered, and tooManyLosses from how many on a line is unstable.
	lossWindow    = 10 * time.Minute
	tooManyLosses = 5
)

// Line is the state of one agent's line, with times by the hub's own clock.
type Line struct {
	// Known says that this process, or a replica that tells it, has had a line of the cluster. All else is zero if not.
	Known bool
	// Up says that it is open now.
	Up bool
	// Since is when the line was opened that is open, or was last.
	Since time.Time
	// Lost is when a line was lost last, be there another one by now or not; zero if none ever was. One that an agent
	// exchanged for a new one was not lost.
	Lost time.Time
	// Goodbye says that the loss was announced, or that the replica is gone which would know of a new line.
	Goodbye bool
}

// down says whether the line was lost and is not back.
func (l Line) down() bool { return l.Known && !l.Up && !l.Lost.IsZero() }

// disconnected says that the line was lost, that nothing was heard by other ways since, and that there is no reason to
// wait for longer than it takes an agent to open a new one:
//
//   - an agent that says goodbye is started anew, or does without a line from now on;
//   - when most lines are lost at once, the hub had better suspect its own network;
//   - a hub that starts, or was stopped for a while, has lost lines itself.
func (in Input) disconnected(memory Memory) bool {
	line := in.Line
	if in.Ready == nil || !line.down() || line.Goodbye || in.Suspect || memory.Heard.After(line.Lost) {
		return false
	}
	return line.Since.After(memory.Started) || !line.Lost.Before(memory.Started.Add(in.Options.FirstGrace))
}

// countLosses carries over when the line was lost of late, and says how often that was if people are to be told.
func countLosses(in Input, memory *Memory) (unstable int) {
	memory.lost = in.Line.Lost
	if in.Memory == nil {
		return 0
	}
	memory.warned = in.Memory.warned
	memory.Losses = recent(in.Memory.Losses, in.Now, lossWindow)
	if !in.Line.Lost.After(in.Memory.lost) || in.Line.Goodbye || in.Suspect {
		return 0
	}
	memory.Losses = append(memory.Losses, in.Line.Lost)
	if len(memory.Losses) < tooManyLosses || in.Now.Sub(memory.warned) < lossWindow {
		return 0
	}
	memory.warned = in.Now
	return len(memory.Losses)
}

// recent returns the times that are less than a window ago, in an array of its own.
func recent(times []time.Time, now time.Time, window time.Duration) []time.Time {
	var out []time.Time
	for _, at := range times {
		if now.Sub(at) < window {
			out = append(out, at)
		}
	}
	return out
}

// LineLosses are the times at which the lines of all clusters were lost. The zero value has none.
type LineLosses struct {
	up int
	// losses are when lines were lost without a goodbye, and back those of lines that are up again; both sorted.
	losses, back []time.Time
}

// NewLineLosses returns those of all lines that are known.
func NewLineLosses(lines []Line) LineLosses {
	var out LineLosses
	for _, l := range lines {
		lost := !l.Lost.IsZero() && !l.Goodbye
		if l.Up {
			out.up++
		}
		if lost {
			out.losses = append(out.losses, l.Lost)
		}
		if lost && l.Up {
			out.back = append(out.back, l.Lost)
		}
	}
	slices.SortFunc(out.losses, time.Time.Compare)
	slices.SortFunc(out.back, time.Time.Compare)
	return out
}

// MostAt says whether most lines that there were went within seconds of one that was lost then: it is more likely that the
// hub has lost its network than that so many agents failed.
func (l LineLosses) MostAt(lost time.Time) bool {
	fell := countNear(l.losses, lost)
	before := fell + l.up - countNear(l.back, lost)
	return fell > 1 && 2*fell > before
}

// countNear counts the times that are near to one.
func countNear(times []time.Time, at time.Time) int {
	from, _ := slices.BinarySearchFunc(times, at.Add(-linesAtOnce), time.Time.Compare)
	to, _ := slices.BinarySearchFunc(times, at.Add(linesAtOnce+1), time.Time.Compare)
	return to - from
}
