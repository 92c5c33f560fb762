package connect

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Line says whether there is a line.
type Line struct {
	// Up says that one is open.
	Up bool
	// IsPresence says that the hub takes it for the sign of life, so that the lease need be renewed rarely.
	IsPresence bool
	// Opened is when the newest was opened; zero if none ever was. Lost is when the last one ended; zero while there is one.
	Opened, Lost time.Time
}

// State says whether there is a line, for who else goes by that. It may be used from many goroutines.
type State struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	lines   []*held // those that are open; the last is the newest
	line    Line
	reason  string // why none could be opened; empty if one was
	changed chan struct{}
}

func newState(c clock.PassiveClock) *State { return &State{clock: c, changed: make(chan struct{})} }

// Now says whether there is a line. The channel is closed when that has changed.
func (s *State) Now() (now Line, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line, s.changed
}

// Reason is why no line could be opened when that was last tried; empty if one could.
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

// opened adds a line.
func (s *State) opened(l *held) {
	s.change(func() {
		s.lines = append(s.lines, l)
		s.line.Opened, s.line.Lost, s.reason = s.clock.Now(), time.Time{}, ""
	})
}

// ended takes a line out.
func (s *State) ended(l *held) {
	s.change(func() {
		if s.lines = slices.DeleteFunc(s.lines, func(o *held) bool { return o == l }); len(s.lines) == 0 {
			s.line.Lost = s.clock.Now()
		}
	})
}

// presence takes over what the hub said over a line.
func (s *State) presence(l *held, is bool) { s.change(func() { l.isPresence = is }) }

// change tells if it is another state afterwards.
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
