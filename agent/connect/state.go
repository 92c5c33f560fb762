package connect

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Line describes the member's line.
type Line struct {
	// Up says that a line is open.
	Up bool
	// IsPresence says that the hub takes the line as the heartbeat, so that the lease is renewed only rarely.
	IsPresence bool
	// Opened is when the newest line was opened; zero if there never was one. Lost is when the last one ended; zero
	// while one is open.
	Opened, Lost time.Time
}

// State tracks the lines of the agent for other packages. It is safe for concurrent use.
type State struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	lines   []*held // the open lines, newest last
	line    Line
	reason  string // why the last attempt to open a line failed; empty if it succeeded
	changed chan struct{}
}

func newState(c clock.PassiveClock) *State { return &State{clock: c, changed: make(chan struct{})} }

// Now returns the state of the line and a channel that is closed when it changes.
func (s *State) Now() (now Line, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line, s.changed
}

// Reason returns why the last attempt to open a line failed; empty if it succeeded.
func (s *State) Reason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

func (s *State) failed(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reason = reason
}

func (s *State) opened(l *held) {
	s.change(func() {
		s.lines = append(s.lines, l)
		s.line.Opened, s.line.Lost, s.reason = s.clock.Now(), time.Time{}, ""
	})
}

func (s *State) ended(l *held) {
	s.change(func() {
		if s.lines = slices.DeleteFunc(s.lines, func(o *held) bool { return o == l }); len(s.lines) == 0 {
			s.line.Lost = s.clock.Now()
		}
	})
}

// presence records the hub's answer to whether a line is the heartbeat.
func (s *State) presence(l *held, is bool) { s.change(func() { l.isPresence = is }) }

// change applies do and wakes the waiters if the state differs afterwards.
func (s *State) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.line
	do()
	n := len(s.lines)
	s.line.Up = n > 0
	s.line.IsPresence = s.line.Up && s.lines[n-1].isPresence
	if s.line != before {
		close(s.changed)
		s.changed = make(chan struct{})
	}
}
