package main

import (
	"maps"
	"slices"
	"strings"

	"fairlead.dev/test/bench/meter"
	"fairlead.dev/test/fleet/hollow"
	"fairlead.dev/test/requests"
)

// used is the difference between two moments.
type used struct {
	seconds   float64
	processes map[string]meter.Process
	server    meter.Server
	agents    hollow.Traffic
	bench     requests.Counts
}

// since returns the difference between two moments. Counters of processes and servers restart with them.
func since(a, b moment) used {
	out := used{
		seconds: b.at.Sub(a.at).Seconds(), processes: map[string]meter.Process{},
		server: b.server.Since(a.server), bench: b.bench.Since(a.bench),
		agents: hollow.Traffic{
			Counts: b.agents.Since(a.agents.Counts), Sent: b.agents.Sent - a.agents.Sent, Received: b.agents.Received - a.agents.Received,
			Connections: b.agents.Connections - a.agents.Connections, Asked: b.agents.Asked - a.agents.Asked,
		},
	}
	for name, p := range b.processes {
		out.processes[name] = p.Since(a.processes[name])
	}
	return out
}

// cpu returns the processor time of a process, in seconds.
func (u used) cpu(process string) float64 { return u.processes[process].CPUSeconds }

// writes returns the number of writes without heartbeats and events.
func (u used) writes() float64 {
	var n float64
	for key, count := range u.server.Requests {
		if isWrite(key) {
			n += count
		}
	}
	return n
}

// conflicts returns the number of conflicts of all clients.
func (u used) conflicts() float64 { return sum(u.server.Conflicts) }

// others returns the requests of neither agents nor the bench: those of the hub and of the controllers of its API. The
// API server counts a watch when it ends, its client when it begins.
func (u used) others() map[string]float64 {
	out := maps.Clone(u.server.Requests)
	for _, known := range []map[string]int64{u.agents.Requests, u.bench.Requests} {
		for key, n := range known {
			out[key] -= float64(n)
		}
	}
	maps.DeleteFunc(out, func(_ string, n float64) bool { return n <= 0 })
	return out
}

// othersBytes returns the bytes by verb of neither agents nor the bench: bodies of writes and responses to reads.
func (u used) othersBytes() map[string]float64 {
	out := map[string]float64{}
	for verb, n := range u.server.Bytes {
		if isRead(verb) {
			n -= float64(u.agents.BodiesReceived[verb] + u.bench.BodiesReceived[verb])
		} else {
			n -= float64(u.agents.BodiesSent[verb] + u.bench.BodiesSent[verb])
		}
		if n > 0 {
			out[verb] = n
		}
	}
	return out
}

// controllers returns the requests of the API's controllers, which have their own FlowSchemas.
func (u used) controllers() float64 {
	return u.server.Flows["kube-controller-manager"] + u.server.Flows["kube-system-service-accounts"]
}

func isRead(verb string) bool { return slices.Contains([]string{"GET", "LIST", "WATCH"}, verb) }

// isWrite reports whether a request is a write other than a heartbeat or an event.
func isWrite(key string) bool {
	verb, resource, _ := strings.Cut(key, " ")
	switch verb {
	case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
		return resource != "leases" && resource != "events" && !strings.HasPrefix(resource, "subjectaccessreviews")
	}
	return false
}

// concernsApplications reports whether a request is about applications.
func concernsApplications(key string) bool {
	switch resourceOf(key) {
	case "works", "resourcebindings", "clusterresourcebindings", "deployments":
		return true
	}
	return false
}

func sum(counts map[string]float64) float64 {
	var n float64
	for _, count := range counts {
		n += count
	}
	return n
}
