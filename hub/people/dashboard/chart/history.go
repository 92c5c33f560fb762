package chart

import (
	"sync"
	"time"
)

// Every is the interval between samples, and Length how many are kept.
const (
	Every  = 15 * time.Second
	Length = 240
)

// maxSeries bounds the memory to 8 MB.
const maxSeries = 8192

// Sample is one value at one time.
type Sample struct {
	At    time.Time
	Value float64
}

// History keeps series by name. It is safe for concurrent use.
type History struct {
	mu     sync.Mutex
	series map[string]*ring
	// at are the times of the last samples, shared by all series; n counts all samples ever added.
	at [Length]time.Time
	n  int
}

// ring holds the values of one series, at the same indexes as the times.
type ring struct {
	values [Length]float32
	// from is the number of the first sample with a value, and last that of the latest.
	from, last int
}

// New returns an empty history.
func New() *History { return &History{series: map[string]*ring{}} }

// Add adds the values at a time, by series. A series without a value is dropped.
func (h *History) Add(at time.Time, values map[string]float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	place := h.n % Length
	h.at[place] = at
	for name := range h.series {
		if _, ok := values[name]; !ok {
			delete(h.series, name)
		}
	}
	for name, value := range values {
		one := h.series[name]
		if one == nil {
			if len(h.series) >= maxSeries {
				continue
			}
			one = &ring{from: h.n}
			h.series[name] = one
		}
		one.values[place], one.last = float32(value), h.n
	}
	h.n++
}

// Samples returns the samples of a series, the oldest first.
func (h *History) Samples(name string) []Sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.series[name]
	if one == nil {
		return nil
	}
	first := max(one.from, h.n-Length)
	out := make([]Sample, 0, one.last-first+1)
	for i := first; i <= one.last; i++ {
		out = append(out, Sample{At: h.at[i%Length], Value: float64(one.values[i%Length])})
	}
	return out
}
