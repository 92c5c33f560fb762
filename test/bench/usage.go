package main

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"fairlead.dev/test/bench/meter"
	"fairlead.dev/test/requests"
)

const samplePeriod = 250 * time.Millisecond

// metering is a running measurement of processes and an API server.
type metering struct {
	pids   map[string]int
	began  map[string]meter.Process
	cancel context.CancelFunc
	done   sync.WaitGroup

	server api
	before meter.Server
	// asked counts the bench's own requests; bench is the count at the start.
	asked     *requests.Counter
	bench     requests.Counts
	profiling *profiling

	mu   sync.Mutex
	peak map[string]int64
}

// startMeter starts to measure all known processes, and the requests and CPU time of one API server. The name is for
// its profiles.
func (b *bench) startMeter(ctx context.Context, server api, name string) (*metering, error) {
	m := &metering{pids: b.pids, server: server, asked: &b.asked, bench: b.asked.Counts(), peak: map[string]int64{}}
	var err error
	if m.before, err = meter.ReadServer(ctx, server.name, server.config); err != nil {
		return nil, err
	}
	if m.began, err = readAll(m.pids); err != nil {
		return nil, err
	}
	if m.profiling, err = b.profile(ctx, server, name); err != nil {
		return nil, err
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

// readAll reads the usage of processes.
func readAll(pids map[string]int) (map[string]meter.Process, error) {
	out := map[string]meter.Process{}
	for name, pid := range pids {
		p, err := meter.ReadProcess(name, pid)
		if err != nil {
			return nil, err
		}
		out[name] = p
	}
	return out, nil
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
	ended, err := readAll(m.pids)
	if err != nil {
		return Usage{}, err
	}
	out := Usage{Processes: usages(m.began, ended, m.peak)}
	after, err := meter.ReadServer(ctx, m.server.name, m.server.config)
	if err != nil {
		return out, err
	}
	used := after.Since(m.before)
	out.ServerCPUSeconds, out.ServerRSSBytes = used.CPUSeconds, used.ResidentBytes
	out.Requests, out.Conflicts, out.Bytes, out.Clients = whole(used.Requests), whole(used.Conflicts), whole(used.Bytes), whole(used.Flows)
	out.Bench = map[string]int{}
	for key, n := range m.asked.Counts().Since(m.bench).Requests {
		out.Bench[key] = int(n)
	}
	out.Parts, err = m.profiling.end()
	return out, err
}

// usages returns the usage of processes between two readings, by name.
func usages(began, ended map[string]meter.Process, peak map[string]int64) []ProcessUsage {
	var out []ProcessUsage
	for _, name := range slices.Sorted(maps.Keys(ended)) {
		used := ended[name].Since(began[name])
		out = append(out, ProcessUsage{
			Name: name, PeakRSSBytes: max(peak[name], used.ResidentBytes), RSSBytes: used.ResidentBytes,
			CPUSeconds: used.CPUSeconds, ReadBytes: used.ReadBytes, WrittenBytes: used.WrittenBytes,
		})
	}
	return out
}

func whole(counts map[string]float64) map[string]int {
	out := make(map[string]int, len(counts))
	for key, n := range counts {
		out[key] = int(n)
	}
	return out
}

// idleUse returns the usage of the idle system. It takes a while, because an agent returns unused memory every two
// minutes.
func (b *bench) idleUse(ctx context.Context) (*Idle, error) {
	progress("nothing happens for %s", b.rest)
	at := time.Now()
	began, err := readAll(b.pids)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, b.rest); err != nil {
		return nil, err
	}
	ended, err := readAll(b.pids)
	if err != nil {
		return nil, err
	}
	return &Idle{Seconds: time.Since(at).Seconds(), Processes: usages(began, ended, nil)}, nil
}
