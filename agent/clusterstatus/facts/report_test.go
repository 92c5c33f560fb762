package facts

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// reportStart is when the agents of these tests began to count.
var reportStart = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func agentReport(change func(*clusterv1alpha1.AgentReport)) *clusterv1alpha1.AgentReport {
	r := &clusterv1alpha1.AgentReport{Time: metav1.NewTime(reportStart), Started: metav1.NewTime(reportStart), SentBytes: 1000}
	if change != nil {
		change(r)
	}
	return r
}

func TestAReportCountsTheStarts(t *testing.T) {
	t.Parallel()
	other := metav1.NewTime(reportStart.Add(-time.Hour))
	cases := map[string]struct {
		reported, found *clusterv1alpha1.AgentReport
		want            int32
	}{
		"the first of all":                 {nil, nil, 0},
		"the first after a start":          {nil, agentReport(func(r *clusterv1alpha1.AgentReport) { r.Started, r.Restarts = other, 3 }), 4},
		"the answer to the first was lost": {nil, agentReport(func(r *clusterv1alpha1.AgentReport) { r.Restarts = 3 }), 3},
		"a later one":                      {agentReport(func(r *clusterv1alpha1.AgentReport) { r.Restarts = 3 }), nil, 3},
		"another agent wrote between": {
			agentReport(func(r *clusterv1alpha1.AgentReport) { r.Restarts = 3 }),
			agentReport(func(r *clusterv1alpha1.AgentReport) { r.Started, r.Restarts = other, 8 }), 3,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			now := reportStart.Add(time.Minute + 300*time.Millisecond)
			got := Report(tc.reported, tc.found, clusterv1alpha1.AgentReport{Started: metav1.NewTime(reportStart.Add(time.Millisecond)), DriftRepaired: 2}, now)
			g.Expect(got.Restarts).To(Equal(tc.want))
			g.Expect(got.DriftRepaired).To(BeEquivalentTo(2))
			g.Expect(got.Time.Time).To(Equal(reportStart.Add(time.Minute)), "as the server keeps it")
			g.Expect(got.Started.Time).To(Equal(reportStart), "as the server keeps it")
		})
	}
}

func TestAReportIsSeldomWorthAWrite(t *testing.T) {
	t.Parallel()
	every := ReportEvery(10 * time.Second)
	NewWithT(t).Expect(every).To(Equal(5 * time.Minute))
	drift := func(r *clusterv1alpha1.AgentReport) { r.DriftRepaired++ }
	noLine := func(r *clusterv1alpha1.AgentReport) { r.NoLine = "refused" }
	traffic := func(r *clusterv1alpha1.AgentReport) { r.SentBytes++ }
	cases := map[string]struct {
		reported *clusterv1alpha1.AgentReport
		after    time.Duration
		change   func(*clusterv1alpha1.AgentReport)
		want     bool
	}{
		"the first":                     {nil, 0, nil, true},
		"drift a moment later":          {agentReport(nil), every - time.Second, drift, false},
		"drift":                         {agentReport(nil), every, drift, true},
		"nothing new":                   {agentReport(nil), every, nil, false},
		"bytes":                         {agentReport(nil), every, traffic, false},
		"bytes after an hour":           {agentReport(nil), time.Hour, traffic, true},
		"the clock was put back":        {agentReport(nil), -time.Hour, nil, true},
		"the journal cannot be written": {agentReport(nil), every, func(r *clusterv1alpha1.AgentReport) { r.Journal = &clusterv1alpha1.JournalReport{Failing: true} }, true},
		"there is no line":              {agentReport(nil), every, noLine, true},
		"there is none, a moment later": {agentReport(nil), every - time.Second, noLine, false},
		"there is one again":            {agentReport(noLine), time.Second, nil, true},
		"an object is stuck":            {agentReport(nil), every, func(r *clusterv1alpha1.AgentReport) { r.StuckObjects = 1 }, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := agentReport(tc.change)
			next.Time = metav1.NewTime(reportStart.Add(tc.after))
			NewWithT(t).Expect(ReportDue(tc.reported, next, every)).To(Equal(tc.want))
		})
	}
}

func TestAReportIsAFewHundredBytes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	text, err := json.Marshal(agentReport(func(r *clusterv1alpha1.AgentReport) {
		r.Restarts, r.StuckObjects, r.DriftRepaired, r.SentBytes, r.ReceivedBytes = math.MaxInt32, math.MaxInt32, math.MaxInt64, math.MaxInt64, math.MaxInt64
		r.Journal = &clusterv1alpha1.JournalReport{Works: math.MaxInt32, Bytes: math.MaxInt64, Failing: true}
	}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(text)).To(BeNumerically("<", 400), string(text))
}
