package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"fairlead.dev/test/bench/meter"
)

const samplePeriod = 250 * time.Millisecond

// metering measures what processes and an API server use.
type metering struct {
	pids   map[string]int
	cpu    map[string]float64
	cancel context.CancelFunc
	done   sync.WaitGroup

	server api
	before meter.Server

	mu   sync.Mutex
	peak map[string]int64
}

// startMeter begins to measure all processes that are known, and the requests and CPU of
// one API server.
func (b *bench) startMeter(ctx context.Context, server api) (*metering, error) {
	m := &metering{pids: b.pids, cpu: map[string]float64{}, server: server, peak: map[string]int64{}}
	var err error
	if m.before, err = meter.ReadServer(ctx, server.name, server.config); err != nil {
		return nil, err
	}
	for name, pid := range m.pids {
		if m.cpu[name], err = meter.CPUSeconds(pid); err != nil {
			return nil, fmt.Errorf("reading what %q uses: %w", name, err)
		}
	}
	ctx, m.cancel = context.WithCancel(ctx)
	m.done.Go(func() {
		ticker := time.NewTicker(samplePeriod)
		defer ticker.Stop()
		for {
			m.sample()
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
	return m, nil
}

func (m *metering) sample() {
	for name, pid := range m.pids {
		if rss, err := meter.ResidentBytes(pid); err == nil {
			m.mu.Lock()
			m.peak[name] = max(m.peak[name], rss)
			m.mu.Unlock()
		}
	}
}

// stop ends the measurement.
func (m *metering) stop(ctx context.Context) (Usage, error) {
	m.cancel()
	m.done.Wait()
	m.sample()
	var out Usage
	for _, name := range slices.Sorted(maps.Keys(m.pids)) {
		cpu, err := meter.CPUSeconds(m.pids[name])
		if err != nil {
			return out, fmt.Errorf("reading what %q uses: %w", name, err)
		}
		out.Processes = append(out.Processes, ProcessUsage{Name: name, PeakRSSBytes: m.peak[name], CPUSeconds: cpu - m.cpu[name]})
	}
	after, err := meter.ReadServer(ctx, m.server.name, m.server.config)
	if err != nil {
		return out, err
	}
	out.ServerCPUSeconds = after.CPUSeconds - m.before.CPUSeconds
	out.ServerRSSBytes = after.ResidentBytes
	out.Requests = map[string]int{}
	for key, n := range after.Requests {
		if delta := int(n - m.before.Requests[key]); delta > 0 {
			out.Requests[key] = delta
		}
	}
	return out, nil
}
