package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fairlead.dev/test/bench/meter"
	"fairlead.dev/test/fleet"
)

// Result is the result of one run of the bench. It is written as JSON.
type Result struct {
	Machine   meter.Machine `json:"machine"`
	When      time.Time     `json:"when"`
	Templates int           `json:"templates"`
	Clusters  int           `json:"clusters"`
	Writers   int           `json:"writers"`
	// Idle is the usage before anything was written.
	Idle      *Idle      `json:"idle,omitempty"`
	Workloads []Workload `json:"workloads"`
}

// Idle is the usage of an idle system.
type Idle struct {
	Seconds   float64        `json:"seconds"`
	Processes []ProcessUsage `json:"processes"`
}

// Workload has the results for one kind of template.
type Workload struct {
	Name string `json:"name"`
	// Changes are the results of creating, updating and deleting templates.
	Changes map[change]*Change `json:"changes"`
	Floor   *Floor             `json:"floor,omitempty"`
}

// complete reports whether each change was measured; the floor may be missing.
func (w Workload) complete() bool {
	for _, c := range changes() {
		if w.Changes[c] == nil || w.Changes[c].Load.Completed == 0 {
			return false
		}
	}
	return true
}

// Change has the results of one change.
type Change struct {
	// Single is measured with single templates on the idle system, each after a pause.
	Single []Step `json:"single,omitempty"`
	Load   Load   `json:"load"`
}

// Load has the results of all templates at once.
type Load struct {
	// TotalSeconds ends with the last status on the hub, or the deletion of the last binding.
	TotalSeconds float64 `json:"totalSeconds"`
	// WritersSeconds ends when the last template was written.
	WritersSeconds float64 `json:"writersSeconds"`
	Completed      int     `json:"completed"`
	Latencies      []Step  `json:"latencies"`
	Usage          Usage   `json:"usage"`
}

// Floor has the results of the bare writes.
type Floor struct {
	TotalSeconds float64 `json:"totalSeconds"`
	Usage        Usage   `json:"usage"`
}

// Step is the latency from the author's request until a step was observed.
type Step struct {
	// Name describes the step.
	Name string `json:"name"`
	Quantiles
}

// of returns the quantiles of a step; zero if it was not measured.
func of(steps []Step, s step) Quantiles {
	for _, found := range steps {
		if found.Name == s.String() {
			return found.Quantiles
		}
	}
	return Quantiles{}
}

// Quantiles are in milliseconds.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Usage is the usage during a measurement.
type Usage struct {
	Processes []ProcessUsage `json:"processes"`
	// ServerCPUSeconds and ServerRSSBytes are of the API server that was written to.
	ServerCPUSeconds float64 `json:"serverCPUSeconds"`
	ServerRSSBytes   int64   `json:"serverRSSBytes"`
	// Requests to that server by verb and resource, and how many of them were conflicts.
	Requests  map[string]int `json:"requests"`
	Conflicts map[string]int `json:"conflicts,omitempty"`
	// Bytes are body sizes by verb: bodies of write requests, responses to reads, and watch events.
	Bytes map[string]int `json:"bytes,omitempty"`
	// Clients are requests by FlowSchema, which tells clients apart; Bench are the bench's own requests.
	Clients map[string]int `json:"clients,omitempty"`
	Bench   map[string]int `json:"bench,omitempty"`
	// Parts are the shares of that server's CPU time, if it was profiled.
	Parts []meter.Share `json:"parts,omitempty"`
}

// ProcessUsage is what one process used.
type ProcessUsage struct {
	Name         string  `json:"name"`
	PeakRSSBytes int64   `json:"peakRSSBytes"`
	RSSBytes     int64   `json:"rssBytes"`
	CPUSeconds   float64 `json:"cpuSeconds"`
	// ReadBytes and WrittenBytes count files and sockets.
	ReadBytes    int64 `json:"readBytes"`
	WrittenBytes int64 `json:"writtenBytes"`
}

// process returns the usage of a process; zero if it was not watched.
func (u Usage) process(name string) ProcessUsage {
	for _, p := range u.Processes {
		if p.Name == name {
			return p
		}
	}
	return ProcessUsage{}
}

// agents returns the usage of the agents.
func agents(of []ProcessUsage) []ProcessUsage {
	var out []ProcessUsage
	for _, p := range of {
		if strings.HasPrefix(p.Name, fleet.AgentName("")) && !strings.Contains(p.Name, "/") {
			out = append(out, p)
		}
	}
	return out
}

// most returns the maximum of a figure over the agents.
func most(of []ProcessUsage, what func(ProcessUsage) float64) float64 {
	out := 0.0
	for _, p := range agents(of) {
		out = max(out, what(p))
	}
	return out
}

func quantiles(of []time.Duration) Quantiles {
	if len(of) == 0 {
		return Quantiles{}
	}
	slices.Sort(of)
	at := func(q float64) float64 {
		i := int(math.Ceil(q*float64(len(of)))) - 1
		return of[max(0, i)].Seconds() * 1000
	}
	return Quantiles{P50: at(0.5), P99: at(0.99), Max: at(1)}
}

// writes returns the number of write requests without heartbeats, and of events.
func (u Usage) writes() (total, events int) {
	for key, n := range u.Requests {
		verb, resource, _ := strings.Cut(key, " ")
		if !slices.Contains([]string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}, verb) {
			continue
		}
		if resource == "leases" || resource == "clusters/status" {
			continue
		}
		total += n
		if resource == "events" {
			events += n
		}
	}
	return total, events
}

func (r Result) write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the directory of the result: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}
