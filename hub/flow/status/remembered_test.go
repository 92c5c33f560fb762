package status

import (
	"errors"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/hub/flow/status/aggregate"
)

// TestASearchGoesOnWhereTheOneBeforeEnded has one status among thousands that alone takes a second.
func TestASearchGoesOnWhereTheOneBeforeEnded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	known := &memory{left: map[string]aggregate.LeftOut{}}
	late := unacceptableError{interpreter.Exceeded(errors.New("the script takes too long"))}
	try := func(items []workv1alpha2.AggregatedStatusItem) error {
		if slices.ContainsFunc(items, func(i workv1alpha2.AggregatedStatusItem) bool { return i.ClusterName == "edge-4321" && i.Status != nil }) {
			now.Step(time.Second)
			return late
		}
		return nil
	}
	looks := 0
	for ; len(known.left) == 0 && looks < 10; looks++ {
		began := now.Now()
		s := &search{out: decided(slices.Repeat([]string{`{"n":2}`}, 5000)), known: known, clock: now, until: began.Add(longestSearch), try: try}
		s.search(late)
		g.Expect(now.Since(began)).To(BeNumerically("<=", longestSearch+time.Second))
	}
	g.Expect(known.left).To(And(HaveLen(1), HaveKey("edge-4321")))
	g.Expect(looks).To(BeNumerically("<=", 5))
}

// TestALiarOfBeforeIsLeftOutFirst has a liar of thousands tell another lie, or the truth, and others who did not lie.
func TestALiarOfBeforeIsLeftOutFirst(t *testing.T) {
	t.Parallel()
	const most = `{"n":2147483647}`
	cases := map[string]struct {
		reports map[int]string
		left    []string
		tries   int
	}{
		"another lie":              {reports: map[int]string{4321: most}, left: []string{"edge-4321"}, tries: 6},
		"and a lie by itself":      {reports: map[int]string{4321: `{"n":-1}`}, left: []string{"edge-4321"}, tries: 4},
		"another one lies":         {reports: map[int]string{1234: most}, left: []string{"edge-1234"}, tries: 70},
		"one of two still does":    {reports: map[int]string{4321: most, 17: `{"n":3}`}, left: []string{"edge-4321"}, tries: 8},
		"both, each by itself":     {reports: map[int]string{4321: most, 17: most}, left: []string{"edge-0017", "edge-4321"}, tries: 8},
		"the liar and another one": {reports: map[int]string{4321: most, 1234: most}, left: []string{"edge-1234", "edge-4321"}, tries: 140},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			now := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			known := &memory{left: map[string]aggregate.LeftOut{"edge-4321": {Why: "it lied."}, "edge-0017": {Why: "it lied, too."}}}
			reports := slices.Repeat([]string{`{"n":2}`}, 5000)
			for i, report := range tc.reports {
				reports[i] = report
			}
			tries := 0
			s := &search{out: decided(reports), known: known, clock: now, until: now.Now().Add(longestSearch)}
			s.try = func(items []workv1alpha2.AggregatedStatusItem) error { tries++; return fits(items) }
			s.search(fits(s.out.Reported))
			g.Expect(fits(s.out.Reported)).To(Succeed())
			var left []string
			for i := range s.out.Reported {
				if aggregate.IsLeftOut(&s.out.Reported[i]) {
					left = append(left, s.out.Reported[i].ClusterName)
				}
			}
			g.Expect(left).To(Equal(tc.left))
			g.Expect(tries).To(BeNumerically("<=", tc.tries))
			known.fit(s.out, now.Now())
			g.Expect(known.left).To(HaveLen(len(tc.left)))
		})
	}
}

// TestLeftOutReportsAreForgottenInTime holds that nothing is remembered for longer than it may hold.
func TestLeftOutReportsAreForgottenInTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	began := time.Unix(0, 0)
	key := types.NamespacedName{Namespace: "shop", Name: "web"}
	reports := []aggregate.Report{{Cluster: "edge-1", Work: &workv1alpha1.Work{}}, {Cluster: "edge-2", Work: &workv1alpha1.Work{}}}
	all := newRemembered()
	m := all.of(key, "v1", reports, began)
	all.keep(key, m)
	g.Expect(all.bindings).To(BeEmpty(), "there is nothing to remember")
	m.left["edge-1"], m.left["edge-2"] = aggregate.LeftOut{Why: "lies."}, aggregate.LeftOut{Why: "lies."}
	all.keep(key, m)
	g.Expect(all.of(key, "v1", reports, began).known(began)).To(HaveLen(2))
	g.Expect(m.wait(0, began)).To(Equal(reconsider))
	g.Expect(m.wait(time.Second, began)).To(Equal(time.Second))
	g.Expect(all.of(key, "v2", reports, began).known(began)).To(BeEmpty(), "the template or its rules are others")
	g.Expect(all.of(key, "v1", reports[:1], began).known(began)).To(HaveLen(1), "a cluster is gone")
	g.Expect(all.of(key, "v1", reports, began.Add(reconsider)).known(began.Add(reconsider))).To(BeEmpty(), "it is time to look again")
	all.forget(key)
	g.Expect(all.bindings).To(BeEmpty())
}
