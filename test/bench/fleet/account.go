package main

import (
	"maps"
	"slices"
)

// Clients of the hub's API.
const (
	ofAgents = "agents"
	ofBench  = "bench"
	// ofOthers is everything else.
	ofOthers = "hub and controllers"
)

// account reports the usage per item: processor time, memory and bytes of the hub, its API server and database, writes
// and conflicts, and all requests and their bytes by client and verb. turn prefixes each figure, if a scene has several
// turns.
func (s *sheet) account(turn, each string, u used, n float64) {
	s.each = each
	for _, name := range processNames() {
		s.put(turn+name+" CPU for each "+each, 1000*u.cpu(name)/n, "ms")
	}
	s.memory(turn, u)
	s.put(turn+"writes for each "+each, u.writes()/n, "")
	s.put(turn+"hub reads for each "+each, float64(u.processes[hubProcess].ReadBytes)/n/1000, "kB")
	s.put(turn+"hub writes for each "+each, float64(u.processes[hubProcess].WrittenBytes)/n/1000, "kB")
	s.put(turn+"agents send for each "+each, float64(u.agents.Sent)/n/1000, "kB")
	s.put(turn+"agents receive for each "+each, float64(u.agents.Received)/n/1000, "kB")
	s.conflicts(turn, u)
	s.requested(turn, each, u, n)
}

// memory reports the memory of the processes, and the peak of the hub.
func (s *sheet) memory(turn string, u used) {
	for _, name := range processNames() {
		s.put(turn+name+" resident", float64(u.processes[name].ResidentBytes)/1e6, "MB")
	}
	s.put(turn+"hub resident at its most", float64(u.processes[hubProcess].PeakBytes)/1e6, "MB")
}

// conflicts reports which writes had conflicts, and how many requests were rejected.
func (s *sheet) conflicts(turn string, u used) {
	s.put(turn+"conflicts (409) of agents", float64(u.agents.Conflicts), "")
	s.put(turn+"conflicts of the hub and others", u.conflicts()-float64(u.agents.Conflicts), "")
	for _, key := range slices.Sorted(maps.Keys(u.server.Conflicts)) {
		s.put(turn+"conflicts, "+key, u.server.Conflicts[key], "")
	}
	s.put(turn+"turned away (429)", sum(u.server.Refused), "")
}

// requested reports all requests and their bytes per item, by client and verb.
func (s *sheet) requested(turn, each string, u used, n float64) {
	s.each = each
	for _, of := range []struct {
		client   string
		requests map[string]float64
	}{{ofAgents, floats(u.agents.Requests)}, {ofOthers, u.others()}, {ofBench, floats(u.bench.Requests)}} {
		for _, key := range slices.Sorted(maps.Keys(of.requests)) {
			s.requests.put(s.column, turn+of.client+" "+key, of.requests[key]/n, "")
		}
	}
	s.put(turn+"requests of kube-controller-manager for each "+each, u.controllers()/n, "")
	for _, of := range []struct {
		whose string
		bytes map[string]float64
	}{
		{ofAgents + ", sent, ", floats(u.agents.BodiesSent)},
		{ofAgents + ", received, ", floats(u.agents.BodiesReceived)},
		{ofOthers + ", ", u.othersBytes()},
		{ofBench + ", sent, ", floats(u.bench.BodiesSent)},
		{ofBench + ", received, ", floats(u.bench.BodiesReceived)},
	} {
		for _, verb := range slices.Sorted(maps.Keys(of.bytes)) {
			s.bytes.put(s.column, turn+of.whose+verb, of.bytes[verb]/n/1000, "kB")
		}
	}
}

func floats(counts map[string]int64) map[string]float64 {
	out := make(map[string]float64, len(counts))
	for key, n := range counts {
		out[key] = float64(n)
	}
	return out
}
