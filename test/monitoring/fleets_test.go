package monitoring

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// TestEachDashboardShowsOneFleet has one Prometheus look at two fleets: whatever a panel shows is of the one that is chosen.
func TestEachDashboardShowsOneFleet(t *testing.T) {
	t.Parallel()
	dashboards, err := Dashboards()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, d := range dashboards {
		fleets := map[string][2][]string{"jobs": {{"job", "eu"}, {"job", "us"}}}
		if chooses(&d, "namespace") {
			fleets["namespaces of a job"] = [2][]string{{"job", "hub", "namespace", "eu"}, {"job", "hub", "namespace", "us"}}
		}
		for name, fleet := range fleets {
			for _, q := range d.PanelQueries() {
				t.Run(q.Where+" of two "+name, func(t *testing.T) {
					t.Parallel()
					g := NewWithT(t)
					expr := chosen(q.Expr, fleet[0])
					ours, theirs := of(fleet[0], answers(t, q.Expr, 2)), of(fleet[1], answers(t, q.Expr, 3))
					alone := newPrometheus(t, warm, ours).at(t, expr, warm)
					g.Expect(alone).NotTo(BeEmpty())
					g.Expect(newPrometheus(t, warm, append(ours, theirs...)).at(t, expr, warm)).To(Equal(alone))
				})
			}
		}
	}
}

// TestTheFleetsOfADashboardAreThoseThatThereAre holds what the variables offer, and that no query has one that is not there.
func TestTheFleetsOfADashboardAreThoseThatThereAre(t *testing.T) {
	t.Parallel()
	dashboards, err := Dashboards()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, d := range dashboards {
		t.Run(d.Title, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(chooses(&d, "job")).To(BeTrue())
			for _, v := range d.Templating.List {
				if v.Type == "query" {
					_, label, ok := v.Asks()
					g.Expect(ok).To(BeTrue(), v.Query)
					g.Expect(label).To(Equal(v.Name))
				}
			}
			for _, q := range d.Queries() {
				g.Expect(chosen(q.Expr, []string{"job", "eu", "namespace", "eu"})).NotTo(ContainSubstring("$"), q.Where)
			}
		})
	}
}

// chooses says whether a dashboard has a variable.
func chooses(d *Dashboard, name string) bool {
	for _, v := range d.Templating.List {
		if v.Name == name {
			return true
		}
	}
	return false
}

// chosen is a query as Grafana asks it once a fleet is chosen. A variable without values is empty.
func chosen(expr string, fleet []string) string {
	for i := 0; i < len(fleet); i += 2 {
		expr = strings.ReplaceAll(expr, "$"+fleet[i], fleet[i+1])
	}
	return strings.ReplaceAll(expr, "$namespace", "")
}

// answers are series that a query asks for, of no fleet yet, which grow as fast as is said.
func answers(t *testing.T, expr string, perSecond float64) []series {
	t.Helper()
	g := NewWithT(t)
	parsed, err := parser.ParseExpr(expr)
	g.Expect(err).NotTo(HaveOccurred())
	var out []series
	for _, matchers := range parser.ExtractSelectors(parsed) {
		var name string
		var with []string
		for _, m := range matchers {
			switch {
			case m.Name == model.MetricNameLabel:
				name = m.Value
			case m.Name == "job" || m.Name == "namespace":
			case m.Type == labels.MatchNotEqual || m.Type == labels.MatchNotRegexp:
				with = append(with, m.Name, "not "+m.Value)
			default:
				first, _, _ := strings.Cut(m.Value, "|")
				with = append(with, m.Name, first)
			}
		}
		if strings.HasSuffix(name, "_bucket") {
			// The two fleets differ in how long things take.
			out = append(out, histogram(name, map[float64]string{2: "10", 3: "60"}[perSecond], with...)...)
			continue
		}
		out = append(out, metric(name, growing(perSecond), with...))
	}
	return out
}
