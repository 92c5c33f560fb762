package session

import (
	"slices"
	"time"
)

// Calm is for how long one session alone must be heard before it counts as the only one.
const Calm = 2 * time.Minute

// memorySize is how many sessions are remembered: more than that at once are told apart
// no less.
const memorySize = 8

// Memory is what is remembered of the sessions of one member.
type Memory struct {
	// Current is the session that was heard last.
	Current string
	// Earlier are those that it took the place of, the latest last.
	Earlier []string
	// Conflict says that several were heard at once, and Last when a session came back.
	Conflict bool
	Last     time.Time
}

// Hear returns what is to be remembered when a session is heard.
func Hear(m Memory, heard string, now time.Time) Memory {
	switch {
	case heard == "":
		return m
	case heard == m.Current:
		return Look(m, now)
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

// Look returns what is to be remembered when nothing new was heard.
func Look(m Memory, now time.Time) Memory {
	if m.Conflict && now.Sub(m.Last) >= Calm {
		m.Conflict = false
	}
	return m
}
