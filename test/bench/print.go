package main

import (
	"fmt"
	"strings"
	"time"

	"fairlead.dev/test/bench/meter"
)

// String returns the result as Markdown tables, as shown in the README.
func (r Result) String() string {
	out := &strings.Builder{}
	fmt.Fprintf(out, "\n%d templates to %d clusters by %d writers, on %s; %s\n",
		r.Templates, r.Clusters, r.Writers, r.Machine, r.When.Format(time.DateOnly))
	tables := []*meter.Table{}
	if r.Idle != nil {
		tables = append(tables, r.idleTable())
	}
	for _, c := range changes() {
		tables = append(tables, r.changeTable(c))
	}
	for _, w := range r.Workloads {
		tables = append(tables, w.stepTable())
	}
	tables = append(tables, r.processTable())
	for _, w := range r.Workloads {
		tables = append(tables, r.requestTable(w), r.byteTable(w))
		if w.profiled() {
			tables = append(tables, w.partTable())
		}
	}
	for _, t := range tables {
		fmt.Fprintf(out, "\n%s", t)
	}
	return out.String()
}

// changeTable shows the cost of a change next to the floor, which is measured for creation.
func (r Result) changeTable(c change) *meter.Table {
	n := float64(r.Templates)
	t := meter.NewTable(append([]string{string(c)}, r.names()...)...)
	line := func(what string, cell func(Workload, *Change) string) {
		cells := []string{what}
		for _, w := range r.Workloads {
			cells = append(cells, cell(w, w.Changes[c]))
		}
		t.Row(cells...)
	}
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
	r.usageLines(line)
	return t
}

// usageLines add the usage of hub, API server, database and agents per template.
func (r Result) usageLines(line func(string, func(Workload, *Change) string)) {
	n := float64(r.Templates)
	for _, name := range []string{hubProcess, hubProcess + "/kube-apiserver", hubProcess + "/etcd"} {
		line(name+": peak memory, CPU, reads and writes per template", func(_ Workload, c *Change) string {
			p := c.Load.Usage.process(name)
			return fmt.Sprintf("%d MB, %.1f ms, %.1f and %.1f kB", p.PeakRSSBytes>>20, 1000*p.CPUSeconds/n, float64(p.ReadBytes)/n/1000, float64(p.WrittenBytes)/n/1000)
		})
	}
	line("the agent that takes most: peak memory, CPU per object", func(_ Workload, c *Change) string {
		of := c.Load.Usage.Processes
		memory := most(of, func(p ProcessUsage) float64 { return float64(p.PeakRSSBytes) })
		return fmt.Sprintf("%d MB, %.1f ms", int64(memory)>>20, 1000*most(of, func(p ProcessUsage) float64 { return p.CPUSeconds })/n)
	})
	line("conflicts (409) per template: of Works and their statuses; of all else", func(_ Workload, c *Change) string {
		works, others := 0, 0
		for key, conflicts := range c.Load.Usage.Conflicts {
			if _, resource, _ := strings.Cut(key, " "); strings.HasPrefix(resource, "works") {
				works += conflicts
			} else {
				others += conflicts
			}
		}
		return fmt.Sprintf("%.3f; %.3f", float64(works)/n, float64(others)/n)
	})
}

// stepTable shows when each step of a single change was observed after the author's request.
func (w Workload) stepTable() *meter.Table {
	t := meter.NewTable(append([]string{"single " + w.Name + " after quiet: seen after, p50 / p99"}, changeNames()...)...)
	for _, s := range steps(creation) {
		cells := []string{s.String()}
		for _, c := range changes() {
			cell := "–"
			if q := of(w.Changes[c].Single, s); q != (Quantiles{}) {
				cell = q.String()
			}
			cells = append(cells, cell)
		}
		t.Row(cells...)
	}
	return t
}

func (r Result) names() []string {
	names := []string{}
	for _, w := range r.Workloads {
		names = append(names, w.Name)
	}
	return names
}

func changeNames() []string {
	names := []string{}
	for _, c := range changes() {
		names = append(names, string(c))
	}
	return names
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
