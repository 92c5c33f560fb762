package limit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How often the agent of one cluster may open a line. A burst is allowed, for agents that restart or whose lines end.
const (
	arrivalsPerSecond = 1
	arrivalsAtOnce    = 5
	// restedEvery is the interval at which clusters are dropped that have not opened a line for a while.
	restedEvery = time.Minute
)

// Arrivals limits how often each cluster may open a line: one at a time and at a bounded rate, so that one agent cannot
// keep the others out. It is safe for concurrent use.
type Arrivals struct {
	mu       sync.Mutex
	clusters map[string]*arrival
	swept    time.Time
}

type arrival struct {
	pace *rate.Limiter
	busy bool
}

// NewArrivals returns an Arrivals that has seen no line yet.
func NewArrivals() *Arrivals { return &Arrivals{clusters: map[string]*arrival{}} }

// Acquire says whether a line of a cluster may be opened now. The attempt counts as running until release is called.
func (a *Arrivals) Acquire(cluster string, now time.Time) (release func(), ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweep(now)
	c := a.clusters[cluster]
	if c == nil {
		c = &arrival{pace: rate.NewLimiter(arrivalsPerSecond, arrivalsAtOnce)}
		a.clusters[cluster] = c
	}
	if c.busy || !c.pace.AllowN(now, 1) {
		return nil, false
	}
	c.busy = true
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		c.busy = false
	}), true
}

// sweep drops clusters whose full burst is available again.
func (a *Arrivals) sweep(now time.Time) {
	if now.Sub(a.swept).Abs() < restedEvery {
		return
	}
	a.swept = now
	for name, c := range a.clusters {
		if !c.busy && c.pace.TokensAt(now) >= arrivalsAtOnce {
			delete(a.clusters, name)
		}
	}
}
