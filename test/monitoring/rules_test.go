package monitoring

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// warm is how long what is growing needs until it is too much.
const warm = 20 * time.Minute

// TestEachAlertFires checks that each alert fires where it should, after its `for`, and not in a healthy fleet.
func TestEachAlertFires(t *testing.T) {
	t.Parallel()
	cases := ruleCases()
	rules, err := Rules()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(rules).To(HaveLen(len(cases)), "each rule has a case")
	for _, r := range rules {
		t.Run(r.Alert, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			tc, ok := cases[r.Alert]
			g.Expect(ok).To(BeTrue(), "each rule has a case")
			holds, err := time.ParseDuration(r.For)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Labels["severity"]).To(BeElementOf("info", "warning", "critical"))

			p := newPrometheus(t, warm+holds, tc.fires)
			for since := warm; since <= warm+holds; since += time.Minute {
				g.Expect(p.at(t, r.Expr, since)).NotTo(BeEmpty(), "it is pending for %s", since-warm)
			}
			fired := p.at(t, r.Expr, warm+holds)[0]
			values := fired.Metric.Map()
			for _, annotation := range []string{"summary", "description"} {
				g.Expect(Text(r.Annotations[annotation], values, fired.F)).NotTo(Or(BeEmpty(), ContainSubstring("no value")))
			}
			summary, err := Text(r.Annotations["summary"]+" "+r.Annotations["description"], values, fired.F)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(summary).To(ContainSubstring(tc.text))

			q := newPrometheus(t, warm+holds, tc.quiet)
			g.Expect(q.at(t, r.Expr, warm+holds)).To(BeEmpty(), "all is well")
		})
	}
}

// TestEachFleetAlertsByItself evaluates the rules over two hubs, of which one has a problem: the other neither hides
// nor duplicates it.
func TestEachFleetAlertsByItself(t *testing.T) {
	t.Parallel()
	rules, err := Rules()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	cases := ruleCases()
	for name, fleets := range map[string][2][]string{
		"jobs":                {{"job", "fairlead-hub-eu"}, {"job", "fairlead-hub-us"}},
		"namespaces of a job": {{"job", "fairlead-hub", "namespace", "eu"}, {"job", "fairlead-hub", "namespace", "us"}},
	} {
		for _, r := range rules {
			t.Run(r.Alert+" of two "+name, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				holds, err := time.ParseDuration(r.For)
				g.Expect(err).NotTo(HaveOccurred())
				tc := cases[r.Alert]
				alone := newPrometheus(t, warm+holds, of(fleets[0], tc.fires)).at(t, r.Expr, warm+holds)
				both := newPrometheus(t, warm+holds, slices.Concat(of(fleets[0], tc.fires), of(fleets[1], tc.quiet))).at(t, r.Expr, warm+holds)
				g.Expect(both).To(Equal(alone))
				g.Expect(both).NotTo(BeEmpty())
				for _, alert := range both {
					for i := 0; i < len(fleets[0]); i += 2 {
						g.Expect(alert.Metric.Get(fleets[0][i])).To(Equal(fleets[0][i+1]), "it says of which fleet it is")
					}
				}
			})
		}
	}
}

// of adds a fleet's labels to series. Series of other jobs keep theirs.
func of(fleet []string, all []series) []series {
	var out []series
	for _, s := range all {
		at := slices.Index(s.labels, "job")
		switch {
		case at < 0:
			s.labels = slices.Concat(s.labels, fleet)
		case s.labels[at+1] == "fairlead-hub":
			s.labels = slices.Concat(s.labels[:at], s.labels[at+2:], fleet)
		}
		out = append(out, s)
	}
	return out
}

// TestAHubThatIsGoneIsMissedBesideAnother makes the series of a hub end, as those of a deleted pod do.
func TestAHubThatIsGoneIsMissedBesideAnother(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	rules, err := Rules()
	g.Expect(err).NotTo(HaveOccurred())
	absent := rules[slices.IndexFunc(rules, func(r Rule) bool { return r.Alert == "FairleadHubAbsent" })]
	told := metric("fairlead_hub_applications", always(5), "state", "Healthy", "job", "fairlead-hub-eu")
	told.ends = 10 * time.Minute
	p := newPrometheus(t, 2*time.Hour, []series{told, metric("fairlead_hub_applications", always(5), "state", "Healthy", "job", "fairlead-hub-us")})
	g.Expect(p.at(t, absent.Expr, 9*time.Minute)).To(BeEmpty())
	missed := p.at(t, absent.Expr, 40*time.Minute)
	g.Expect(missed).To(HaveLen(1))
	g.Expect(missed[0].Metric.Get("job")).To(Equal("fairlead-hub-eu"))
	g.Expect(p.at(t, absent.Expr, 75*time.Minute)).To(BeEmpty(), "its job was renamed, or it was given up")
	g.Expect(newPrometheus(t, time.Hour, nil).at(t, absent.Expr, time.Hour)).To(HaveLen(1), "there is none at all")
}

// TestASilentClusterKeepsItsAlertWhileAnotherHubTakesOver checks that a takeover does not resolve the alert: the time
// without metrics is shorter than keep_firing_for plus the time that the alert takes to fire again.
func TestASilentClusterKeepsItsAlertWhileAnotherHubTakesOver(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	rules, err := Rules()
	g.Expect(err).NotTo(HaveOccurred())
	silent := rules[slices.IndexFunc(rules, func(r Rule) bool { return r.Alert == "FairleadClusterSilent" })]
	holds, err := time.ParseDuration(silent.For)
	g.Expect(err).NotTo(HaveOccurred())
	stays, err := time.ParseDuration(silent.KeepFiringFor)
	g.Expect(err).NotTo(HaveOccurred())
	const takeover = time.Minute
	g.Expect(stays).To(BeNumerically(">", holds+takeover))
}

func TestDashboardsCanBeRead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dashboards, err := Dashboards()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(dashboards).To(HaveLen(2))
	for _, d := range dashboards {
		g.Expect(d.UID).NotTo(BeEmpty())
		ids, cells := map[int]bool{}, map[[2]int]string{}
		for _, p := range d.Panels {
			g.Expect(ids[p.ID]).To(BeFalse(), "panel %d of %s is there twice", p.ID, d.Title)
			ids[p.ID] = true
			g.Expect(p.Title).NotTo(BeEmpty())
			g.Expect(p.Description).NotTo(BeEmpty(), "panel %s says what it shows", p.Title)
			g.Expect(p.Targets).NotTo(BeEmpty())
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					g.Expect(cells).NotTo(HaveKey([2]int{x, y}), "panel %s lies on another", p.Title)
					cells[[2]int{x, y}] = p.Title
				}
			}
		}
	}
	queries, err := Queries()
	g.Expect(err).NotTo(HaveOccurred())
	for _, q := range queries {
		asked, err := q.Asks()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(asked).NotTo(BeEmpty(), q.Where)
	}
}
