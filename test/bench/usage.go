package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"k8s.io/client-go/discovery"
)

// ticksPerSecond is that of /proc on every Linux that Go runs on.
const ticksPerSecond = 100

const samplePeriod = 250 * time.Millisecond

// meter measures what processes and an API server use.
type meter struct {
	pids   map[string]int
	cpu    map[string]float64
	cancel context.CancelFunc
	done   sync.WaitGroup

	server api
	before serverCount

	mu   sync.Mutex
	peak map[string]int64
}

// startMeter begins to measure all processes that are known, and the requests and CPU of
// one API server.
func (b *bench) startMeter(ctx context.Context, server api) (*meter, error) {
	m := &meter{pids: b.pids, cpu: map[string]float64{}, server: server, peak: map[string]int64{}}
	var err error
	if m.before, err = server.count(ctx); err != nil {
		return nil, err
	}
	for name, pid := range m.pids {
		if m.cpu[name], err = cpuSeconds(pid); err != nil {
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

func (m *meter) sample() {
	for name, pid := range m.pids {
		if rss, err := residentBytes(pid); err == nil {
			m.mu.Lock()
			m.peak[name] = max(m.peak[name], rss)
			m.mu.Unlock()
		}
	}
}

// stop ends the measurement.
func (m *meter) stop(ctx context.Context) (Usage, error) {
	m.cancel()
	m.done.Wait()
	m.sample()
	var out Usage
	for _, name := range slices.Sorted(maps.Keys(m.pids)) {
		cpu, err := cpuSeconds(m.pids[name])
		if err != nil {
			return out, fmt.Errorf("reading what %q uses: %w", name, err)
		}
		out.Processes = append(out.Processes, ProcessUsage{Name: name, PeakRSSBytes: m.peak[name], CPUSeconds: cpu - m.cpu[name]})
	}
	after, err := m.server.count(ctx)
	if err != nil {
		return out, err
	}
	out.ServerCPUSeconds = after.cpu - m.before.cpu
	out.ServerRSSBytes = int64(after.rss)
	out.Requests = map[string]int{}
	for key, n := range after.requests {
		if delta := int(n - m.before.requests[key]); delta > 0 {
			out.Requests[key] = delta
		}
	}
	return out, nil
}

// cpuSeconds is the time that a process has spent on a CPU.
func cpuSeconds(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat is cut short", pid)
	}
	var ticks float64
	for _, field := range fields[11:13] { // user and system
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return ticks / ticksPerSecond, nil
}

// residentBytes is the memory that a process has now.
func residentBytes(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/%d/statm is cut short", pid)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// serverCount is what an API server says of itself.
type serverCount struct {
	cpu, rss float64
	// requests are counted by verb and resource.
	requests map[string]float64
}

func (a api) count(ctx context.Context) (serverCount, error) {
	out := serverCount{requests: map[string]float64{}}
	d, err := discovery.NewDiscoveryClientForConfig(a.config)
	if err != nil {
		return out, err
	}
	data, err := d.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return out, fmt.Errorf("reading the metrics of %q: %w", a.name, err)
	}
	// Of the thousands of series only these few are parsed.
	var few bytes.Buffer
	for line := range bytes.Lines(data) {
		for _, name := range []string{"apiserver_request_total", "process_cpu_seconds_total", "process_resident_memory_bytes"} {
			if bytes.HasPrefix(line, []byte(name)) || bytes.HasPrefix(line, []byte("# TYPE "+name+" ")) {
				few.Write(line)
			}
		}
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(&few)
	if err != nil {
		return out, fmt.Errorf("reading the metrics of %q: %w", a.name, err)
	}
	out.cpu = single(families["process_cpu_seconds_total"])
	out.rss = single(families["process_resident_memory_bytes"])
	for _, series := range families["apiserver_request_total"].GetMetric() {
		if key := requestKey(series); key != "" {
			out.requests[key] += series.GetCounter().GetValue()
		}
	}
	return out, nil
}

func single(family *dto.MetricFamily) float64 {
	for _, series := range family.GetMetric() {
		return series.GetCounter().GetValue() + series.GetGauge().GetValue()
	}
	return 0
}

// requestKey is like "PATCH works/status"; empty for requests that are not about objects.
func requestKey(series *dto.Metric) string {
	labels := map[string]string{}
	for _, pair := range series.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	if labels["resource"] == "" {
		return ""
	}
	key := labels["verb"] + " " + labels["resource"]
	if labels["subresource"] != "" {
		key += "/" + labels["subresource"]
	}
	return key
}
