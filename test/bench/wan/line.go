package main

import (
	"math/rand/v2"
	"sync"
	"time"
)

// packet is the payload of a packet in bytes.
const packet = 1400

// overhead is the size of the TCP and IP headers of a packet.
const overhead = 52

// longestQueue is the maximum delay of data queued before the line: beyond it the reader waits, as TCP makes its sender
// wait.
const longestQueue = 2 * time.Second

// line describes the link between agent and hub.
type line struct {
	// delay is one-way.
	delay time.Duration
	// rate is in bytes per second, in each direction.
	rate float64
	// loss is the share of packets that are lost.
	loss float64
}

// way is one direction of a line, shared by all its connections. It is safe for concurrent use.
type way struct {
	line

	mu sync.Mutex
	// free is when the line has sent everything queued.
	free time.Time
	// random decides with the loss share whether a packet is lost.
	random func() float64
	bytes  int64
}

func newWay(l line, seed uint64) *way {
	r := rand.New(rand.NewPCG(seed, seed))
	return &way{line: l, random: r.Float64}
}

// send puts a packet on the line. It returns when the packet arrives, and when its sender may send the next.
func (w *way) send(now time.Time, n int) (arrives, next time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n += overhead
	w.free = later(w.free, now).Add(w.takes(n))
	w.bytes += int64(n)
	arrives = w.free.Add(w.delay)
	if w.random() < w.loss {
		// The loss is detected when the next packet has arrived, and known when its acknowledgement is back.
		w.free = w.free.Add(w.takes(n))
		w.bytes += int64(n)
		arrives = later(arrives.Add(2*w.delay), w.free.Add(w.delay))
	}
	return arrives, w.free.Add(-longestQueue)
}

func (w *way) takes(n int) time.Duration {
	return time.Duration(float64(n) / w.rate * float64(time.Second))
}

// sent returns the bytes sent this way, including headers and retransmissions.
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
