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
)

// Result is what one run of the bench found. It is written as JSON.
type Result struct {
	Machine   meter.Machine `json:"machine"`
	When      time.Time     `json:"when"`
	Templates int           `json:"templates"`
	Clusters  int           `json:"clusters"`
	Writers   int           `json:"writers"`
	Workloads []Workload    `json:"workloads"`
}

// Workload is what was found for one kind of template.
type Workload struct {
	Name string `json:"name"`
	// Changes are what was measured of making, changing and deleting templates.
	Changes map[change]*Change `json:"changes"`
	Floor   *Floor             `json:"floor,omitempty"`
}

// Change is what was found for one change.
type Change struct {
	// Single is of single templates on the idle system, each after some quiet.
	Single []Step `json:"single,omitempty"`
	Load   Load   `json:"load"`
}

// Load is what was found when all templates came at once.
type Load struct {
	// TotalSeconds is from the first template written to the last status back, or the last
	// binding gone.
	TotalSeconds float64 `json:"totalSeconds"`
	// WritersSeconds is until the last template was written.
	WritersSeconds float64 `json:"writersSeconds"`
	Completed      int     `json:"completed"`
	Latencies      []Step  `json:"latencies"`
	Usage          Usage   `json:"usage"`
}

// Floor is what the bare writes took.
type Floor struct {
	TotalSeconds float64 `json:"totalSeconds"`
	Usage        Usage   `json:"usage"`
}

// Step is how long it took from the author's request until something was seen.
type Step struct {
	// Name says what was seen.
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

// Usage is what was used meanwhile.
type Usage struct {
	Processes []ProcessUsage `json:"processes"`
	// ServerCPUSeconds and ServerRSSBytes are of the API server that was written to.
	ServerCPUSeconds float64 `json:"serverCPUSeconds"`
	ServerRSSBytes   int64   `json:"serverRSSBytes"`
	// Requests to that server, by verb and resource.
	Requests map[string]int `json:"requests"`
}

// ProcessUsage is what one process used.
type ProcessUsage struct {
	Name         string  `json:"name"`
	PeakRSSBytes int64   `json:"peakRSSBytes"`
	CPUSeconds   float64 `json:"cpuSeconds"`
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

// writes returns the writing requests, without the heartbeats that happen anyway.
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
