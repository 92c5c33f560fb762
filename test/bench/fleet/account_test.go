package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/bench/meter"
	"fairlead.dev/test/fleet/hollow"
	"fairlead.dev/test/requests"
)

// theFirst and theSecond are two moments, a second apart.
func theFirst() moment {
	return moment{
		at:        time.Unix(100, 0),
		processes: map[string]meter.Process{hubProcess: {CPUSeconds: 5, ResidentBytes: 80e6, PeakBytes: 90e6, ReadBytes: 1000}},
		server: meter.Server{
			Requests: map[string]float64{"PATCH works/status": 10, "PATCH works": 2},
			Bytes:    map[string]float64{"PATCH": 1000},
			Flows:    map[string]float64{"kube-controller-manager": 3},
		},
		agents: hollow.Traffic{Counts: requests.Counts{Requests: map[string]int64{"PATCH works/status": 10}}, Sent: 100},
	}
}

func theSecond() moment {
	m := theFirst()
	m.at = m.at.Add(time.Second)
	m.processes = map[string]meter.Process{hubProcess: {CPUSeconds: 5.5, ResidentBytes: 81e6, PeakBytes: 95e6, ReadBytes: 5000}}
	m.server = meter.Server{
		Requests: map[string]float64{
			"PATCH works/status": 16, "PATCH works": 5, "PUT leases": 4, "POST events": 1, "GET deployments": 2, "PATCH deployments": 2,
		},
		Conflicts: map[string]float64{"PATCH works": 2, "PATCH works/status": 1},
		Refused:   map[string]float64{"LIST works": 1},
		Bytes:     map[string]float64{"PATCH": 8000, "WATCH": 6000, "GET": 500},
		Flows:     map[string]float64{"kube-controller-manager": 4, "kube-system-service-accounts": 2, "exempt": 9},
	}
	m.agents = hollow.Traffic{
		Counts: requests.Counts{
			Requests:   map[string]int64{"PATCH works/status": 16, "PUT leases": 4, "WATCH works": 1},
			BodiesSent: map[string]int64{"PATCH": 3000}, BodiesReceived: map[string]int64{"PATCH": 700, "WATCH": 4000}, Conflicts: 1,
		},
		Sent: 1100, Received: 500,
	}
	m.bench = requests.Counts{Requests: map[string]int64{"PATCH deployments": 2}, BodiesSent: map[string]int64{"PATCH": 200}, BodiesReceived: map[string]int64{"WATCH": 2500}}
	return m
}

func TestWhatNeitherAgentsNorTheBenchAskIsOfTheHubAndItsControllers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	u := since(theFirst(), theSecond())
	g.Expect(u.others()).To(Equal(map[string]float64{"PATCH works": 3, "POST events": 1, "GET deployments": 2}),
		"a watch that agents have begun is not counted by the API server yet")
	g.Expect(u.othersBytes()).To(Equal(map[string]float64{"PATCH": 3800, "GET": 500}),
		"of a watch the API server counts no more than its clients receive")
	g.Expect(u.writes()).To(Equal(11.0), "leases and events left aside")
	g.Expect(u.conflicts()).To(Equal(3.0))
	g.Expect(u.controllers()).To(Equal(3.0))
}

func TestAnAccountIsForEachOfWhatHappened(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := report{}
	r.begin(size{10, 100})
	sheet := r.sheet(scene{name: "change", what: "templates change"})
	sheet.account("", "change", since(theFirst(), theSecond()), 2)
	told := func(of columns, what string) string {
		found, ok := of.cells[what][0]
		g.Expect(ok).To(BeTrue(), what)
		return meter.Figure(found.value, found.unit)
	}
	for what, want := range map[string]string{
		"hub CPU for each change":                             "250 ms",
		"hub resident":                                        "81.0 MB",
		"hub resident at its most":                            "95.0 MB",
		"writes for each change":                              "5.50",
		"hub reads for each change":                           "2.00 kB",
		"agents send for each change":                         "0.500 kB",
		"conflicts (409) of agents":                           "1.00",
		"conflicts of the hub and others":                     "2.00",
		"turned away (429)":                                   "1.00",
		"conflicts, PATCH works/status":                       "1.00",
		"kube-apiserver CPU for each change":                  "0 ms",
		"requests of kube-controller-manager for each change": "1.50",
	} {
		g.Expect(told(sheet.figures, what)).To(Equal(want), what)
	}
	for what, want := range map[string]string{
		"agents PATCH works/status":       "3.00",
		"hub and controllers PATCH works": "1.50",
		"bench PATCH deployments":         "1.00",
	} {
		g.Expect(told(sheet.requests, what)).To(Equal(want), what)
	}
	for what, want := range map[string]string{
		"agents, sent, PATCH":        "1.50 kB",
		"agents, received, WATCH":    "2.00 kB",
		"hub and controllers, PATCH": "1.90 kB",
		"bench, received, WATCH":     "1.25 kB",
	} {
		g.Expect(told(sheet.bytes, what)).To(Equal(want), what)
	}
	g.Expect(r.String()).To(And(
		ContainSubstring("\nchange: templates change\n\n| what "), ContainSubstring("\n\n| requests for each change "), ContainSubstring("\n\n| kB for each change ")))
}
