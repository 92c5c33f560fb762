package cli

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/people/pods"
	"fairlead.dev/hub/people/view/clusters"
)

func TestWhyAClusterHasNoLineIsShown(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	off := &clusterv1alpha1.AgentReport{NoLine: "its agent runs with --line=false"}
	for name, tc := range map[string]struct {
		cluster clusters.Cluster
		lines   map[string]pods.Line
		line    string // empty if nothing about lines is shown
		remark  string
	}{
		"a hub that has none, or does not tell": {cluster: clusters.Cluster{Name: "a", Report: off}},
		"nobody ever had one, nor says why":     {cluster: clusters.Cluster{Name: "a"}, lines: map[string]pods.Line{}},
		"nobody ever had one, and an agent says why": {
			cluster: clusters.Cluster{Name: "a", Report: off}, lines: map[string]pods.Line{}, line: "none", remark: "No line: its agent runs with --line=false.",
		},
		"its agent says why beside what else is to be said": {
			cluster: clusters.Cluster{Name: "a", Report: off, Remarks: []string{"It is cordoned."}}, lines: map[string]pods.Line{"b": {Up: true}},
			line: "none", remark: "It is cordoned. No line: its agent runs with --line=false.",
		},
		"it had one": {
			cluster: clusters.Cluster{Name: "a", Report: off}, lines: map[string]pods.Line{"a": {Lost: "2026-01-01T11:00:00Z"}},
			line: "down 60m", remark: "No line: its agent runs with --line=false.",
		},
		"it has one again, which its agent has yet to report": {
			cluster: clusters.Cluster{Name: "a", Report: off}, lines: map[string]pods.Line{"a": {Up: true, Since: "2026-01-01T11:00:00Z", Operators: "off"}}, line: "up 60m",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			fleet := []clusters.Cluster{tc.cluster}
			shown := clusterTable(fleet, now)
			addLines(shown, fleet, tc.lines, now)
			cells := map[string]table.Cell{}
			g.Expect(shown.Rows[0]).To(HaveLen(len(shown.Columns)))
			for i, column := range shown.Columns {
				cells[column.Name] = shown.Rows[0][i]
			}
			g.Expect(cells["LINE"].Text).To(Equal(tc.line))
			g.Expect(cells["REMARK"].Text).To(Equal(tc.remark))
		})
	}
}
