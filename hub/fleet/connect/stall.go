package connect

import (
	"io"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// stallTimeout is how long a stream may be stalled in both directions: nothing comes from the member, and what was sent to it does
	// not go on. The operator who hangs up behind that is not heard: the API server between waits to send more of what they sent
	// before, and reads nothing of their end. A stream that is silent waits for nothing, and may be so for ever.
	stallTimeout = 10 * time.Minute
	// goneTimeout is the same for a stream whose operator has hung up: the command may end by that, and say its last.
	goneTimeout = time.Minute
	// stallEvery is how often that is looked at.
	stallEvery = time.Minute
)

// stallDetector is how an upgraded stream goes on. Its methods may be called by several goroutines.
type stallDetector struct {
	stopped chan struct{}
	once    sync.Once

	mu      sync.Mutex
	writing bool
	gone    bool // the operator
	step    int  // changes whenever something goes on
}

func (s *stallDetector) begin() { s.set(true) }
func (s *stallDetector) end()   { s.set(false) }
func (s *stallDetector) stop()  { s.once.Do(func() { close(s.stopped) }) }

// progressed says that something came from the member.
func (s *stallDetector) progressed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step++
}

func (s *stallDetector) set(writing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = writing
	s.step++
}

// operatorLeft says that the operator has hung up.
func (s *stallDetector) operatorLeft() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
}

// at is the step at which the stream is, and how long it may stay there; 0 is for ever.
func (s *stallDetector) at() (step int, most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.gone:
		return s.step, goneTimeout
	case s.writing:
		return s.step, stallTimeout
	default:
		return s.step, 0
	}
}

// watch calls end once if the stream is stalled for too long, and returns when it is stopped.
func (s *stallDetector) watch(c clock.WithTicker, end func()) {
	ticker := c.NewTicker(stallEvery)
	defer ticker.Stop()
	last, since := 0, c.Now()
	for {
		select {
		case <-s.stopped:
			return
		case <-ticker.C():
		}
		step, most := s.at()
		if most == 0 || step != last {
			last, since = step, c.Now()
			continue
		}
		if c.Since(since) >= most {
			end()
			return
		}
	}
}

// endStalled ends a stream that is stalled, so that its place in the limits is free.
func (s *Server) endStalled(p proxyRequest, stream io.Closer) {
	s.Log.Info("Ending a stream, nothing comes from the member, and the operator has hung up or what they sent does not go on", "Cluster", p.target.Cluster, "user", p.caller.User, "request", p.caller.Request)
	_ = stream.Close() // what it could say is that the stream has ended
}
