package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/bench/meter"
)

// measured returns a result that just meets every target.
func measured() Result {
	load := func(cpu float64, writes int) Load {
		return Load{TotalSeconds: 16, Usage: Usage{
			ServerCPUSeconds: cpu, Requests: map[string]int{"PATCH works": writes, "PUT leases": 500, "GET works": 10},
			Processes: []ProcessUsage{
				{Name: "agent-edge-1", CPUSeconds: 5, PeakRSSBytes: 60 << 20},
				{Name: "agent-edge-2", CPUSeconds: 4, PeakRSSBytes: 50 << 20},
				{Name: "hub", CPUSeconds: 50, PeakRSSBytes: 100 << 20},
			},
		}}
	}
	single := []Step{{Name: arrived.String(), Quantiles: Quantiles{P50: 80, P99: 200}}}
	workload := func(name string) Workload {
		return Workload{
			Name: name, Floor: &Floor{TotalSeconds: 10, Usage: Usage{ServerCPUSeconds: 10, Requests: map[string]int{"POST works": 9000}}},
			Changes: map[change]*Change{
				creation: {Single: single, Load: load(18, 11000)}, update: {Single: single, Load: load(18, 11000)}, removal: {Single: single, Load: load(30, 12000)},
			},
		}
	}
	return Result{
		Templates: 1000, Clusters: 3, Writers: 8, When: time.Unix(0, 0),
		Idle:      &Idle{Seconds: 150, Processes: []ProcessUsage{{Name: "agent-edge-1", RSSBytes: 30 << 20}, {Name: "hub", RSSBytes: 90 << 20}}},
		Workloads: []Workload{workload(configMaps), workload("deployments-1")},
	}
}

func TestWhatIsMeasuredIsJudgedByWhatWasPromised(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		with func(*Result)
		want string
	}{
		"all is kept":                    {func(*Result) {}, ""},
		"it takes too long":              {func(r *Result) { r.Workloads[0].Changes[creation].Load.TotalSeconds = 16.1 }, "configmaps: all statuses back, times the floor"},
		"the API server works too much":  {func(r *Result) { r.Workloads[0].Floor.Usage.ServerCPUSeconds = 9.9 }, "configmaps: CPU of the hub's API server, times that of the floor"},
		"an update is dearer":            {func(r *Result) { r.Workloads[1].Changes[update].Load.Usage.ServerCPUSeconds = 18.1 }, "deployments-1: an update beside a creation, CPU of the hub's API server"},
		"too much is written":            {func(r *Result) { r.Workloads[0].Changes[update].Load.Usage.Requests["POST events"] = 60 }, "configmaps: writes, update"},
		"a change takes too long":        {func(r *Result) { r.Workloads[1].Changes[removal].Single[0].P99 = 201 }, "deployments-1: single delete in all members, p99"},
		"an agent works too much":        {func(r *Result) { r.Workloads[1].Changes[creation].Load.Usage.Processes[1].CPUSeconds = 5.1 }, "deployments-1: an agent's CPU for an object with its status"},
		"an agent has too much memory":   {func(r *Result) { r.Workloads[1].Changes[creation].Load.Usage.Processes[0].PeakRSSBytes += 1 << 20 }, "deployments-1: an agent's memory with 1000 objects"},
		"an idle agent has too much":     {func(r *Result) { r.Idle.Processes[0].RSSBytes += 1 << 20 }, "an idle agent's memory"},
		"the hub has too much memory":    {func(r *Result) { r.Workloads[0].Changes[creation].Load.Usage.Processes[2].PeakRSSBytes += 1 << 20 }, "configmaps: memory of the hub"},
		"an agent was not idle for long": {func(r *Result) { r.Idle.Processes[0].RSSBytes, r.Idle.Seconds = 40<<20, 60 }, ""},
		"a few writes are the API's own": {func(r *Result) { r.Workloads[0].Changes[update].Load.Usage.Requests["PATCH apiservices"] = 40 }, ""},
		"nobody measured the floor":      {func(r *Result) { r.Workloads[0].Floor = nil }, ""},
		"the agents are not to be seen":  {func(r *Result) { r.Idle.Processes, r.Workloads[1].Changes[creation].Load.Usage.Processes = nil, nil }, ""},
		"there were no single templates": {func(r *Result) { r.Workloads[0].Changes[creation].Single = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := measured()
			// The steps are shared by all changes.
			for _, w := range r.Workloads {
				for _, c := range w.Changes {
					c.Single = []Step{c.Single[0]}
				}
			}
			tt.with(&r)
			bars := judge(r)
			if tt.want == "" {
				g.Expect(bars.Missed()).To(BeZero(), bars.String())
				return
			}
			g.Expect(bars.Missed()).To(Equal(1), bars.String())
			g.Expect(bars.String()).To(MatchRegexp(`\| ` + tt.want + ` +\|[^\n]*MISSED`))
		})
	}
}

func TestTheTablesSayWhatEachChangeUsed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := measured()
	u := &r.Workloads[0].Changes[creation].Load.Usage
	u.Conflicts, u.Bytes, u.Clients = map[string]int{"PATCH works/status": 2}, map[string]int{"PATCH": 4_000_000}, map[string]int{"fairlead-agents": 6000}
	u.Parts = []meter.Share{{Of: "admission", Part: 0.25}, {Of: "all else", Part: 0.75}}
	r.Workloads[0].Floor.Usage.Parts = []meter.Share{{Of: "admission", Part: 0.5}, {Of: "all else", Part: 0.5}}
	text := r.String()
	for _, want := range []string{
		`\| nothing happens, for 150 s +\| memory`,
		`\| hub +\| 90 MB`,
		`\| all done +\| 16\.0 s +\| 16\.0 s`,
		`\| times the floor +\| 1\.60`,
		`\| hub: peak memory, CPU, reads and writes per template +\| 100 MB, 50\.0 ms, 0\.0 and 0\.0 kB`,
		`\| the agent that takes most: peak memory, CPU per object +\| 60 MB, 5\.0 ms`,
		`\| conflicts \(409\) per template: of Works and their statuses; of all else +\| 0\.002; 0\.000`,
		`\| PATCH works +\| 11\.00 +\| 11\.00 +\| 12\.00`,
		`\| of FlowSchema fairlead-agents +\| 6\.00 +\| 0\.00`,
		`\| PATCH +\| 4\.00 +\| 0\.00`,
		`\| all of it +\| 1\.64 ms +\| 1\.64 ms +\| 2\.50 ms +\| 1\.11 ms`,
		`\| admission +\| 0\.409 ms +\| 0 ms +\| 0 ms +\| 0\.556 ms`,
	} {
		g.Expect(text).To(MatchRegexp(want))
	}
}

// TestAWorkloadIsCompleteWithoutItsFloor decides what is worth printing when the bench fails halfway.
func TestAWorkloadIsCompleteWithoutItsFloor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := Workload{Changes: map[change]*Change{}}
	for _, c := range changes() {
		w.Changes[c] = &Change{}
	}
	g.Expect(w.complete()).To(BeFalse())
	for _, c := range changes() {
		w.Changes[c].Load.Completed = 1000
	}
	g.Expect(w.complete()).To(BeTrue())
}
