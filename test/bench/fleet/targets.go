package main

import "fmt"

// Targets for a hub and its API on 2 cores, and the sizes up to which they apply.
const (
	mostIdleCores   = 0.3
	mostHubMemory   = 1500 // MB
	mostToWorks     = 1    // seconds from a template's change to the last of its Works
	mostRoomierCPU  = 50   // ms of the hub for a cluster that has more room
	mostUntilReady  = 60   // seconds from a restart until all agents are seen and Ready
	mostUntilSteady = 60   // seconds from a restart until the hub is idle, without a write about applications
)

// middling is the size up to which the targets of an idle system apply, full the size up to which all others do.
func middling() size { return size{agents: 1000, bindings: 10000} }
func full() size     { return size{agents: 5000, bindings: 50000} }

// String describes a size.
func (s size) String() string { return fmt.Sprintf("%d agents, %d applications", s.agents, s.bindings) }

// within reports whether a size does not exceed another.
func (s size) within(other size) bool {
	return s.agents <= other.agents && s.bindings <= other.bindings
}

// all returns the sizes to measure, ascending.
func (o options) all() []size {
	out := make([]size, 0, len(o.sizes))
	for _, part := range o.sizes {
		out = append(out, size{agents: max(4, int(part*float64(o.agents))), bindings: max(1, int(part*float64(o.bindings)))})
	}
	return out
}

// judges reports whether targets up to a size are checked at another: at the largest size of this run that does not
// exceed it.
func (o options) judges(at, upTo size) bool {
	var largest size
	for _, s := range o.all() {
		if s.within(upTo) {
			largest = s
		}
	}
	return at == largest
}

// promised reports a figure of a scene, with its maximum if that is checked at this size.
func (s *system) promised(scene string, at, upTo size, what string, measured, most float64, unit string) {
	if s.judges(at, upTo) {
		s.bars.Most(fmt.Sprintf("%s, %s: %s", at, scene, what), measured, most, unit)
	}
}
