package connect

import (
	"io"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// stallTimeout is how long a stream may be stalled in both directions: nothing comes from the member, and what was
	// sent to it makes no progress. In that state the hub cannot notice that the operator hung up: the API server in
	// between is still waiting to write earlier data, and does not read the close. A stream that is merely idle may
	// stay open forever.
	stallTimeout = 10 * time.Minute
	// goneTimeout is the same for a stream whose operator has hung up: the command may end because of that, and still
	// write output.
	goneTimeout = time.Minute
	// stallEvery is the interval of the checks.
	stallEvery = time.Minute
)

// stallDetector tracks the progress of an upgraded stream. Its methods are safe for concurrent use.
type stallDetector struct {
	stopped chan struct{}
	once    sync.Once

	mu      sync.Mutex
	writing bool
	gone    bool // the operator hung up
	step    int  // changes with all progress
}

func (s *stallDetector) begin() { s.set(true) }
func (s *stallDetector) end()   { s.set(false) }
func (s *stallDetector) stop()  { s.once.Do(func() { close(s.stopped) }) }

// progressed records that data came from the member.
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

// operatorLeft records that the operator hung up.
func (s *stallDetector) operatorLeft() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
}

// at returns the current step of the stream, and how long it may stay there; 0 means forever.
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

// watch calls end, once, if the stream is stalled for too long. It returns when the detector is stopped.
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

// endStalled ends a stalled stream, to free its place in the limits.
func (s *Server) endStalled(p proxyRequest, stream io.Closer) {
	s.Log.Info("Ending a stream, the member sends nothing, and the operator has hung up or their data is not accepted", "Cluster", p.target.Cluster, "user", p.caller.User, "request", p.caller.Request)
	_ = stream.Close() // an error only means that the stream has ended
}
