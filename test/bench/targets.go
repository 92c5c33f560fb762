package main

import (
	"fmt"

	"fairlead.dev/test/bench/meter"
)

// Targets on 2 cores, for 1,000 templates to three members.
const (
	// For ConfigMaps.
	mostTimesFloor    = 1.6
	mostTimesFloorCPU = 1.8
	mostWrites        = 11
	// For an update of any kind, relative to a creation.
	mostTimesCreation = 1.0
	// For a single change after a pause, in all members; in milliseconds.
	mostMedian, mostTail = 80, 200
	// For an agent, with Deployments and idle.
	mostAgentCPU    = 5  // milliseconds for an object with its status
	mostAgentMemory = 60 // MB
	mostAgentIdle   = 30 // MB
	// leastIdle is how many seconds an agent takes to return unused memory.
	leastIdle = 120
	// For the hub, with three members.
	mostHubMemory = 100 // MB
	// mostTemplates is the number of templates up to which the memory targets apply.
	mostTemplates = 1000
)

// hubProcess is the name of the hub's process.
const hubProcess = "hub"

const megabyte = 1 << 20

// judge compares the result with the targets.
func judge(r Result) *meter.Bars {
	bars := &meter.Bars{}
	for _, w := range r.Workloads {
		if w.Name == configMaps {
			r.judgeFloor(w, bars)
			for _, c := range []change{creation, update} {
				total, _ := w.Changes[c].Load.Usage.writes()
				bars.Most(fmt.Sprintf("%s: writes, %s", w.Name, c), float64(total)/float64(r.Templates), mostWrites, "")
			}
		}
		created, updated := w.Changes[creation].Load.Usage, w.Changes[update].Load.Usage
		bars.Most(w.Name+": an update beside a creation, CPU of the hub's API server", updated.ServerCPUSeconds/created.ServerCPUSeconds, mostTimesCreation, "x")
		for _, c := range changes() {
			if q := of(w.Changes[c].Single, arrived); q != (Quantiles{}) {
				bars.Most(fmt.Sprintf("%s: single %s in all members, p50", w.Name, c), q.P50, mostMedian, "ms")
				bars.Most(fmt.Sprintf("%s: single %s in all members, p99", w.Name, c), q.P99, mostTail, "ms")
			}
		}
		if hub := created.process(hubProcess); hub.PeakRSSBytes > 0 && r.Templates <= mostTemplates {
			bars.Most(w.Name+": memory of the hub", float64(hub.PeakRSSBytes)/megabyte, mostHubMemory, "MB")
		}
		if w.Name != configMaps && len(agents(created.Processes)) > 0 {
			cpu := most(created.Processes, func(p ProcessUsage) float64 { return p.CPUSeconds })
			bars.Most(w.Name+": an agent's CPU for an object with its status", 1000*cpu/float64(r.Templates), mostAgentCPU, "ms")
			if r.Templates <= mostTemplates {
				memory := most(created.Processes, func(p ProcessUsage) float64 { return float64(p.PeakRSSBytes) })
				bars.Most(fmt.Sprintf("%s: an agent's memory with %d objects", w.Name, r.Templates), memory/megabyte, mostAgentMemory, "MB")
			}
		}
	}
	if r.Idle != nil && r.Idle.Seconds >= leastIdle && len(agents(r.Idle.Processes)) > 0 {
		bars.Most("an idle agent's memory", most(r.Idle.Processes, func(p ProcessUsage) float64 { return float64(p.RSSBytes) })/megabyte, mostAgentIdle, "MB")
	}
	return bars
}

func (r Result) judgeFloor(w Workload, bars *meter.Bars) {
	if w.Floor == nil {
		return
	}
	load := w.Changes[creation].Load
	bars.Most(w.Name+": all statuses back, times the floor", load.TotalSeconds/w.Floor.TotalSeconds, mostTimesFloor, "x")
	bars.Most(w.Name+": CPU of the hub's API server, times that of the floor", load.Usage.ServerCPUSeconds/w.Floor.Usage.ServerCPUSeconds, mostTimesFloorCPU, "x")
}
