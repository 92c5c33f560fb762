package health

import (
	"slices"
	"time"
)

// How a line is judged: the connection that an agent keeps open to the hub.
const (
	// DefaultLineGrace is how long an agent may take to reopen a lost line.
	DefaultLineGrace = 3 * time.Second
	// linesAtOnce is the time within which losses of lines count as simultaneous: the hub pings each agent at another moment, and gives up
	// on each within ten seconds.
	linesAtOnce = 10 * time.Second
	// linesReopen is how long, after the last member that came back to a started hub, the others have to reopen lines
	// that broke meanwhile.
	linesReopen = 10 * time.Second
	// lossWindow is how long a loss of a line is remembered. With tooManyLosses in that time the line is unstable.
	lossWindow    = 10 * time.Minute
	tooManyLosses = 5
)

// Line is the state of one agent's line, with times by the hub's own clock.
type Line struct {
	// Known says that this process, or a replica that reports to it, has had a line of the cluster. Otherwise all fields are zero.
	Known bool
	// Up says that it is open now.
	Up bool
	// Since is when the newest line was opened.
	Since time.Time
	// Lost is when a line was last lost, whether there is another one now or not; zero if none ever was. A line that the agent replaced by
	// a new one was not lost.
	Lost time.Time
	// Goodbye says that the agent announced the end of the line, or that the replica that would know of a new line is
	// gone.
	Goodbye bool
}

// down says whether the line was lost and not reopened.
func (l Line) down() bool { return l.Known && !l.Up && !l.Lost.IsZero() }

// disconnected says whether the line was lost, no other heartbeat has arrived since, and there is no reason to wait for
// longer than an agent takes to open a new line:
//
//   - an agent that says goodbye is restarting, or will do without a line;
//   - when most lines are lost at once, the hub's own network is the likelier cause;
//   - a hub that starts, or was suspended, has lost the lines itself.
func (in Input) disconnected(memory Memory) bool {
	line := in.Line
	if in.Ready == nil || !line.down() || line.Goodbye || in.Suspect || memory.Heard.After(line.Lost) {
		return false
	}
	return line.Since.After(memory.Started) || !line.Lost.Before(memory.Started.Add(in.Options.FirstGrace))
}

// countLosses carries over the recent losses of the line, and returns their number if a warning is due.
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

// recent returns a new list of the times that are less than a window ago.
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
	// losses are the times at which lines were lost without a goodbye; back are those of lines that are open again.
	// Both are sorted.
	losses, back []time.Time
}

// NewLineLosses collects the losses of all known lines.
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

// MostAt says whether most lines were lost within linesAtOnce of a time. Then the hub has probably lost its own
// network, rather than each agent its own.
func (l LineLosses) MostAt(lost time.Time) bool {
	fell := countNear(l.losses, lost)
	before := fell + l.up - countNear(l.back, lost)
	return fell > 1 && 2*fell > before
}

// countNear counts the times within linesAtOnce of a time.
func countNear(times []time.Time, at time.Time) int {
	from, _ := slices.BinarySearchFunc(times, at.Add(-linesAtOnce), time.Time.Compare)
	to, _ := slices.BinarySearchFunc(times, at.Add(linesAtOnce+1), time.Time.Compare)
	return to - from
}
