package setup

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

const (
	// slowAnswer is the latency from which the network to the hub counts as slow, if even the fastest of the last
	// answers took so long.
	slowAnswer = 200 * time.Millisecond
	// lastAnswers is how many answers are considered. A single slow one says nothing about the network: the hub may
	// have been busy.
	lastAnswers = 8
)

// answerTimes judges from the latency of the hub's answers whether the network to it is slow. It is safe for
// concurrent use.
type answerTimes struct {
	mu    sync.Mutex
	last  [lastAnswers]time.Duration
	count int
}

func (a *answerTimes) add(took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last[a.count%lastAnswers] = took
	a.count++
}

// isSlow returns whether the network is slow. It is not until there was an answer.
func (a *answerTimes) isSlow() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, took := range a.last[:min(a.count, lastAnswers)] {
		if took < slowAnswer {
			return false
		}
	}
	return a.count > 0
}

// timed returns a copy of a configuration whose requests are timed until their answers begin.
func timed(config *rest.Config, times *answerTimes, c clock.PassiveClock) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return timing{next, times, c} })
	return config
}

type timing struct {
	next  http.RoundTripper
	times *answerTimes
	clock clock.PassiveClock
}

// WrappedRoundTripper implements net.RoundTripperWrapper, by which clients find the transport below.
func (t timing) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t timing) RoundTrip(request *http.Request) (*http.Response, error) {
	began := t.clock.Now()
	response, err := t.next.RoundTrip(request)
	if err == nil {
		t.times.add(t.clock.Since(began))
	}
	return response, err
}
