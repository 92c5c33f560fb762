package main

import (
	"math/rand/v2"
	"sync"
	"time"
)

// packet is how many bytes go at a time.
const packet = 1400

// overhead is what the headers of TCP and IP add to a packet.
const overhead = 52

// longestQueue is how long what waits before the line may take: what reads for it waits then, as
// TCP has its sender wait.
const longestQueue = 2 * time.Second

// line is what lies between agent and hub.
type line struct {
	// delay is that of one way.
	delay time.Duration
	// rate is in bytes a second, each way.
	rate float64
	// loss is the share of packets that are lost.
	loss float64
}

// way is one direction of a line, shared by all its connections. It is safe for use by many
// goroutines.
type way struct {
	line

	mu sync.Mutex
	// free is when the line has sent what it was given.
	free time.Time
	// random says whether a packet is lost, given the share.
	random func() float64
	bytes  int64
}

func newWay(l line, seed uint64) *way {
	r := rand.New(rand.NewPCG(seed, seed))
	return &way{line: l, random: r.Float64}
}

// send puts a packet on the line. It returns when it arrives, and until when its sender waits with
// the next.
func (w *way) send(now time.Time, n int) (arrives, next time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n += overhead
	w.free = later(w.free, now).Add(w.takes(n))
	w.bytes += int64(n)
	arrives = w.free.Add(w.delay)
	if w.random() < w.loss {
		// It is missed when the next has arrived, and that is known when its acknowledgement is here.
		w.free = w.free.Add(w.takes(n))
		w.bytes += int64(n)
		arrives = later(arrives.Add(2*w.delay), w.free.Add(w.delay))
	}
	return arrives, w.free.Add(-longestQueue)
}

func (w *way) takes(n int) time.Duration {
	return time.Duration(float64(n) / w.rate * float64(time.Second))
}

// sent is how many bytes went this way, headers and what was sent again among them.
func (w *way) sent() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
