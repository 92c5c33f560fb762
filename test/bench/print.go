package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String returns the result as tables in Markdown, as the README has them.
func (r Result) String() string {
	out := &strings.Builder{}
	fmt.Fprintf(out, "\n%d templates to %d clusters by %d writers, on %s; %s\n\n",
		r.Templates, r.Clusters, r.Writers, r.Machine, r.When.Format("2006-01-02"))
	names := []string{}
	for _, w := range r.Workloads {
		names = append(names, w.Name)
	}
	row(out, "what", names...)
	row(out, "---", slices.Repeat([]string{"---"}, len(names))...)
	n := float64(r.Templates)
	for _, line := range []struct {
		what string
		cell func(Workload) string
	}{
		{"all statuses back", func(w Workload) string { return fmt.Sprintf("%.1f s", w.Load.TotalSeconds) }},
		{"the floor: the bare writes", func(w Workload) string {
			return w.ifFloor(func(f Floor) string { return fmt.Sprintf("%.1f s", f.TotalSeconds) })
		}},
		{"times the floor", func(w Workload) string {
			return w.ifFloor(func(f Floor) string { return fmt.Sprintf("%.2f", w.Load.TotalSeconds/f.TotalSeconds) })
		}},
		{"all removed", func(w Workload) string { return fmt.Sprintf("%.1f s", w.RemovalSeconds) }},
		{"under load: exists in all, p50 / p99", func(w Workload) string { return w.Load.Latencies.Exists.String() }},
		{"under load: status, p50 / p99", func(w Workload) string { return w.Load.Latencies.Status.String() }},
		{"idle: exists in all, p50 / p99", func(w Workload) string { return w.Idle.Exists.String() }},
		{"idle: status, p50 / p99", func(w Workload) string { return w.Idle.Status.String() }},
		{"idle: status after the member's change, p50 / p99", func(w Workload) string { return w.Idle.StatusAfterChange.String() }},
		{"writes to the hub's API per template (events)", func(w Workload) string {
			total, events := w.Load.Usage.writes()
			return fmt.Sprintf("%.1f (%.1f)", float64(total)/n, float64(events)/n)
		}},
		{"hub API server's CPU per template", func(w Workload) string {
			return fmt.Sprintf("%.1f ms", w.Load.Usage.ServerCPUSeconds/n*1000)
		}},
		{"… of the floor", func(w Workload) string {
			return w.ifFloor(func(f Floor) string { return fmt.Sprintf("%.1f ms", f.Usage.ServerCPUSeconds/n*1000) })
		}},
	} {
		cells := []string{}
		for _, w := range r.Workloads {
			cells = append(cells, line.cell(w))
		}
		row(out, line.what, cells...)
	}
	r.printProcesses(out, names)
	r.printRequests(out)
	return out.String()
}

// printProcesses shows peak memory and CPU time of each process under load.
func (r Result) printProcesses(out *strings.Builder, names []string) {
	use := map[string][]string{}
	for i, w := range r.Workloads {
		for _, p := range w.Load.Usage.Processes {
			if use[p.Name] == nil {
				use[p.Name] = make([]string, len(r.Workloads))
			}
			use[p.Name][i] = fmt.Sprintf("%d MB, %.1f s", p.PeakRSSBytes>>20, p.CPUSeconds)
		}
	}
	fmt.Fprintln(out)
	row(out, "process: peak memory, CPU", names...)
	row(out, "---", slices.Repeat([]string{"---"}, len(names))...)
	for _, name := range slices.Sorted(maps.Keys(use)) {
		row(out, name, use[name]...)
	}
}

// printRequests shows the requests to the hub's API server that matter.
func (r Result) printRequests(out *strings.Builder) {
	for _, w := range r.Workloads {
		fmt.Fprintf(out, "\nRequests to the hub's API server, %s:\n", w.Name)
		requests := w.Load.Usage.Requests
		keys := slices.SortedFunc(maps.Keys(requests), func(a, b string) int {
			if requests[a] != requests[b] {
				return requests[b] - requests[a]
			}
			return strings.Compare(a, b)
		})
		for _, key := range keys {
			fmt.Fprintf(out, "  %8d  %6.2f per template  %s\n", requests[key], float64(requests[key])/float64(r.Templates), key)
		}
	}
}

func (w Workload) ifFloor(cell func(Floor) string) string {
	if w.Floor == nil {
		return "–"
	}
	return cell(*w.Floor)
}

// String returns p50 and p99.
func (q Quantiles) String() string { return fmt.Sprintf("%s / %s", millis(q.P50), millis(q.P99)) }

func millis(ms float64) string {
	if ms >= 10000 {
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

func row(out *strings.Builder, first string, cells ...string) {
	fmt.Fprintf(out, "| %-50s |", first)
	for _, cell := range cells {
		fmt.Fprintf(out, " %-18s |", cell)
	}
	fmt.Fprintln(out)
}
