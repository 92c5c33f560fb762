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
	fmt.Fprintf(out, "\n%d templates to %d clusters by %d writers, on %s; %s\n",
		r.Templates, r.Clusters, r.Writers, r.Machine, r.When.Format("2006-01-02"))
	names := []string{}
	for _, w := range r.Workloads {
		names = append(names, w.Name)
	}
	for _, c := range changes() {
		r.printChange(out, c, names)
	}
	for _, w := range r.Workloads {
		w.printSteps(out)
	}
	r.printProcesses(out, names)
	r.printRequests(out)
	return out.String()
}

// printChange shows what a change costs beside the floor, which is that of a creation.
func (r Result) printChange(out *strings.Builder, c change, names []string) {
	n := float64(r.Templates)
	line := func(what string, cell func(Workload, *Change) string) {
		var cells []string
		for _, w := range r.Workloads {
			cells = append(cells, cell(w, w.Changes[c]))
		}
		row(out, what, cells...)
	}
	fmt.Fprintln(out)
	row(out, string(c), names...)
	row(out, "---", slices.Repeat([]string{"---"}, len(names))...)
	line("all done", func(_ Workload, c *Change) string { return fmt.Sprintf("%.1f s", c.Load.TotalSeconds) })
	if c == creation {
		line("the floor: the bare writes", func(w Workload, _ *Change) string {
			return w.ifFloor(func(f Floor) string { return fmt.Sprintf("%.1f s", f.TotalSeconds) })
		})
		line("times the floor", func(w Workload, c *Change) string {
			return w.ifFloor(func(f Floor) string { return fmt.Sprintf("%.2f", c.Load.TotalSeconds/f.TotalSeconds) })
		})
	}
	for _, s := range []step{arrived, shown} {
		line("under load: "+s.String()+", p50 / p99", func(_ Workload, c *Change) string { return of(c.Load.Latencies, s).String() })
		line("after quiet: "+s.String()+", p50 / p99", func(_ Workload, c *Change) string { return of(c.Single, s).String() })
	}
	line("writes to the hub's API per template (events)", func(_ Workload, c *Change) string {
		total, events := c.Load.Usage.writes()
		return fmt.Sprintf("%.1f (%.1f)", float64(total)/n, float64(events)/n)
	})
	line("hub API server's CPU per template", func(_ Workload, c *Change) string {
		return fmt.Sprintf("%.1f ms", c.Load.Usage.ServerCPUSeconds/n*1000)
	})
	line("hub API server's CPU per 1,000 writes", func(_ Workload, c *Change) string {
		total, _ := c.Load.Usage.writes()
		return fmt.Sprintf("%.2f s", c.Load.Usage.ServerCPUSeconds/float64(max(total, 1))*1000)
	})
	if c == creation {
		line("… of the floor, per template", func(w Workload, _ *Change) string {
			return w.ifFloor(func(f Floor) string { return fmt.Sprintf("%.1f ms", f.Usage.ServerCPUSeconds/n*1000) })
		})
	}
}

// printSteps shows when each step of a single change was seen after the author's request.
func (w Workload) printSteps(out *strings.Builder) {
	fmt.Fprintln(out)
	var names []string
	for _, c := range changes() {
		names = append(names, string(c))
	}
	row(out, "single "+w.Name+" after quiet: seen after, p50 / p99", names...)
	row(out, "---", slices.Repeat([]string{"---"}, len(names))...)
	for _, s := range steps(creation) {
		var cells []string
		for _, c := range changes() {
			cell := "–"
			if q := of(w.Changes[c].Single, s); q != (Quantiles{}) {
				cell = q.String()
			}
			cells = append(cells, cell)
		}
		row(out, s.String(), cells...)
	}
}

// printProcesses shows peak memory and CPU time of each process while all templates are made.
func (r Result) printProcesses(out *strings.Builder, names []string) {
	use := map[string][]string{}
	for i, w := range r.Workloads {
		for _, p := range w.Changes[creation].Load.Usage.Processes {
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
		for _, c := range changes() {
			fmt.Fprintf(out, "\nRequests to the hub's API server, %s of %s:\n", c, w.Name)
			r.printUsage(out, w.Changes[c].Load.Usage.Requests)
		}
	}
}

func (r Result) printUsage(out *strings.Builder, requests map[string]int) {
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
