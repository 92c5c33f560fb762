package registration

import (
	"slices"
	"time"

	"fairlead.dev/common/contract"
)

// calm is for how long one session alone must be heard before it counts as the only one: longer than an agent rests that is heard
// by its line.
const calm = contract.RestingLease + 2*time.Minute

// memorySize is how many sessions are remembered: more than that at once are told apart
// no less.
const memorySize = 8

// sessionMemory is what is remembered of the sessions of one member. Each agent process has a
// session. A process that was started again takes the place of the one before it, which is never
// heard from again. When sessions come back after others took their place, there are several at
// once: the disk of a machine was copied, with all that makes its agent what it is.
type sessionMemory struct {
	// Current is the session that was heard last.
	Current string
	// Earlier are the sessions that it took the place of, the latest last.
	Earlier []string
	// Conflict says that several were heard at once, and Last when a session came back.
	Conflict bool
	Last     time.Time
}

// hear returns what is to be remembered when a session is heard.
func (m sessionMemory) hear(heard string, now time.Time) sessionMemory {
	switch {
	case heard == "":
		return m
	case heard == m.Current:
		return m.look(now)
	case slices.Contains(m.Earlier, heard):
		m.Conflict, m.Last = true, now
	}
	earlier := slices.DeleteFunc(slices.Clone(m.Earlier), func(s string) bool { return s == heard })
	if m.Current != "" {
		earlier = append(earlier, m.Current)
	}
	m.Earlier = earlier[max(0, len(earlier)-memorySize):]
	m.Current = heard
	return m
}

// look returns what is to be remembered when nothing new was heard.
func (m sessionMemory) look(now time.Time) sessionMemory {
	if m.Conflict && now.Sub(m.Last) >= calm {
		m.Conflict = false
	}
	return m
}
