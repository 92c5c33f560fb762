package cli

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/agent/setup"
	"fairlead.dev/agent/status"
)

func TestStatusSaysWhatIsNotAsItShouldBe(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	report := func(change func(*setup.Report)) statusReport {
		r := &setup.Report{
			Hub: "https://hub:6443", Started: now.Add(-time.Hour), Heard: now.Add(-4 * time.Second), Ready: true,
			Member: "cluster is healthy and ready to accept workloads", Works: status.Summary{Known: 3, Applied: 3}, Drift: 2,
		}
		if change != nil {
			change(r)
		}
		return statusReport{Cluster: "edge-1", Running: true, Report: r, Expires: now.Add(100 * 24 * time.Hour)}
	}
	silent := func(r *setup.Report) { r.Silence = "connection refused" }
	cases := map[string]struct {
		is   statusReport
		well bool
		want []string
	}{
		"all is well": {report(nil), true, []string{
			"Cluster      edge-1", "in 100 days", "running, started 1h0m0s ago", "https://hub:6443, heard 4s ago",
			"3, 3 applied, 0 failing", "Unsent       none", "2 put back since the start",
		}},
		"no agent runs":      {statusReport{Cluster: "edge-1", Expires: now.Add(time.Hour)}, false, []string{"not running with this state directory; start it with `agent run`"}},
		"the hub is silent":  {report(silent), false, []string{"not heard since 4s ago: connection refused"}},
		"it was never heard": {report(func(r *setup.Report) { silent(r); r.Heard = time.Time{} }), false, []string{"https://hub:6443, not heard: connection refused"}},
		"the hub refuses it": {report(func(r *setup.Report) { r.Refused = now.Add(-time.Minute) }), false, []string{
			"Refused      by the hub since 1m0s ago", "or another agent has this cluster: stop this one",
		}},
		"a Work fails": {report(func(r *setup.Report) {
			r.Works.Failing, r.Works.Failures = 1, []status.Failure{{Work: "web", Message: "the member refuses it"}}
		}), false, []string{"1 failing", "Failing      web: the member refuses it"}},
		"there is a line": {report(func(r *setup.Report) { r.Line = &setup.LineReport{Up: true, Since: now.Add(-time.Minute)} }), true, []string{"Line         up, opened 1m0s ago"}},
		"the line was lost": {report(func(r *setup.Report) {
			r.Line = &setup.LineReport{Since: now.Add(-time.Minute), Reason: "connection refused"}
		}), true, []string{"Line         lost 1m0s ago: connection refused"}},
		"there is no line yet": {report(func(r *setup.Report) { r.Line = &setup.LineReport{} }), true, []string{"Line         none yet"}},
		"a status waits":       {report(func(r *setup.Report) { r.Works.Unsent, r.Works.Oldest = 2, now.Add(-time.Minute) }), true, []string{"2, the oldest 1m0s ago"}},
		"deletions are held":   {report(func(r *setup.Report) { r.Held = "too many" }), false, []string{"held: too many"}},
		"the member is down":   {report(func(r *setup.Report) { r.Ready, r.Member = false, "cluster is not reachable" }), false, []string{"cluster is not reachable"}},
		"the certificate end":  {statusReport{Cluster: "edge-1", Running: true, Report: report(nil).Report, Expires: now.Add(-time.Hour)}, false, []string{"ended 2026-01-01T11:00:00Z; join again, unless another agent has this cluster"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var out strings.Builder
			g.Expect(tc.is.print(&out, now)).To(Succeed())
			for _, want := range tc.want {
				g.Expect(out.String()).To(ContainSubstring(want))
			}
			g.Expect(tc.is.isHealthy(now)).To(Equal(tc.well))
		})
	}
}
