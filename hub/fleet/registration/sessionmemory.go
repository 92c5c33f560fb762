package registration

import (
	"slices"
	"time"

	"fairlead.dev/common/contract"
)

// calm is how long a single session must be heard before it counts as the only one: longer than the interval at which
// an agent with a line renews its lease.
const calm = contract.RestingLease + 2*time.Minute

// memorySize is how many sessions are remembered. Even with more than that at once, a conflict is still detected.
const memorySize = 8

// sessionMemory remembers the sessions of one member's agent. Each agent process has a session. A restarted process
// replaces the session before it, which is never heard again. If a replaced session comes back, several agents run at
// once: the disk of a machine was cloned, with the agent's identity on it.
type sessionMemory struct {
	// Current is the session that was heard most recently.
	Current string
	// Earlier are the sessions that it replaced, the latest last.
	Earlier []string
	// Conflict says that several sessions are active, and Last when a replaced session last came back.
	Conflict bool
	Last     time.Time
}

// hear returns the memory after a session was heard.
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

// look returns the memory when nothing new was heard.
func (m sessionMemory) look(now time.Time) sessionMemory {
	if m.Conflict && now.Sub(m.Last) >= calm {
		m.Conflict = false
	}
	return m
}
