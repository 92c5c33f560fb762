package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"fairlead.dev/test/bench/meter"
)

// idleTable shows the usage of an idle system.
func (r Result) idleTable() *meter.Table {
	t := meter.NewTable(fmt.Sprintf("nothing happens, for %.0f s", r.Idle.Seconds), "memory", "CPU", "reads and writes in an hour")
	for _, p := range r.Idle.Processes {
		hours := r.Idle.Seconds / time.Hour.Seconds()
		t.Row(p.Name, fmt.Sprintf("%d MB", p.RSSBytes>>20), meter.Figure(100*p.CPUSeconds/r.Idle.Seconds, "% of a core"),
			fmt.Sprintf("%.0f and %.0f kB", float64(p.ReadBytes)/hours/1000, float64(p.WrittenBytes)/hours/1000))
	}
	return t
}

// processTable shows peak memory and CPU time of each process while all templates are created.
func (r Result) processTable() *meter.Table {
	use := map[string][]string{}
	for i, w := range r.Workloads {
		for _, p := range w.Changes[creation].Load.Usage.Processes {
			if use[p.Name] == nil {
				use[p.Name] = make([]string, len(r.Workloads))
			}
			use[p.Name][i] = fmt.Sprintf("%d MB, %.1f s", p.PeakRSSBytes>>20, p.CPUSeconds)
		}
	}
	t := meter.NewTable(append([]string{"create: peak memory and CPU of each process"}, r.names()...)...)
	for _, name := range slices.Sorted(maps.Keys(use)) {
		t.Row(append([]string{name}, use[name]...)...)
	}
	return t
}

// requestTable shows the requests to the hub's API server, by verb and resource and by client.
func (r Result) requestTable(w Workload) *meter.Table {
	t := meter.NewTable(append([]string{"requests to the hub's API server per template: " + w.Name}, changeNames()...)...)
	perChange(t, w, "", float64(r.Templates), "%.2f", func(u Usage) map[string]int { return u.Requests })
	perChange(t, w, "conflicts, ", float64(r.Templates), "%.3f", func(u Usage) map[string]int { return u.Conflicts })
	perChange(t, w, "of the bench ", float64(r.Templates), "%.2f", func(u Usage) map[string]int { return u.Bench })
	// The hub and the bench are in the FlowSchema exempt.
	perChange(t, w, "of FlowSchema ", float64(r.Templates), "%.2f", func(u Usage) map[string]int { return u.Clients })
	return t
}

// byteTable shows the bytes of these requests.
func (r Result) byteTable(w Workload) *meter.Table {
	t := meter.NewTable(append([]string{"kB of bodies per template: " + w.Name}, changeNames()...)...)
	perChange(t, w, "", 1000*float64(r.Templates), "%.2f", func(u Usage) map[string]int { return u.Bytes })
	return t
}

// rare is the number per template below which rows are combined.
const rare = 0.03

// perChange adds a row for each key of counts, with a column for each change, largest first. Keys that are rare in
// every change are summed up in one row.
func perChange(t *meter.Table, w Workload, prefix string, n float64, format string, counts func(Usage) map[string]int) {
	sums := map[string]int{}
	for _, c := range changes() {
		for key, count := range counts(w.Changes[c].Load.Usage) {
			sums[key] += count
		}
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return cmp.Or(sums[b]-sums[a], cmp.Compare(a, b)) })
	row := func(what string, keys ...string) {
		cells := []string{prefix + what}
		for _, c := range changes() {
			count := 0
			for _, key := range keys {
				count += counts(w.Changes[c].Load.Usage)[key]
			}
			cells = append(cells, fmt.Sprintf(format, float64(count)/n))
		}
		t.Row(cells...)
	}
	var others []string
	for _, key := range keys {
		if float64(sums[key])/n < rare {
			others = append(others, key)
		} else {
			row(key, key)
		}
	}
	if len(others) > 0 {
		row(fmt.Sprintf("%d others", len(others)), others...)
	}
}

// profiled reports whether the API server was profiled.
func (w Workload) profiled() bool { return len(w.Changes[creation].Load.Usage.Parts) > 0 }

// partTable shows what the API server spends on each write, next to the same for the floor.
func (w Workload) partTable() *meter.Table {
	columns := []Usage{}
	head := []string{"what the hub's API server does for each write: " + w.Name}
	for _, c := range changes() {
		head, columns = append(head, string(c)), append(columns, w.Changes[c].Load.Usage)
	}
	if w.Floor != nil {
		head, columns = append(head, "the floor"), append(columns, w.Floor.Usage)
	}
	t := meter.NewTable(head...)
	row := func(what string, of func(Usage) float64) {
		cells := []string{what}
		for _, u := range columns {
			total, _ := u.writes()
			cells = append(cells, meter.Figure(1000*u.ServerCPUSeconds/float64(max(total, 1))*of(u), "ms"))
		}
		t.Row(cells...)
	}
	row("all of it", func(Usage) float64 { return 1 })
	for i, share := range columns[0].Parts {
		row(share.Of, func(u Usage) float64 {
			if i >= len(u.Parts) {
				return 0
			}
			return u.Parts[i].Part
		})
	}
	return t
}
