package disruption

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/test/builder"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		// fleet has a word for each cluster: r is ready, n has never reported, and a number is the second at which it
		// fell silent.
		fleet string
		want  []string
		of    int
	}{
		"no cluster":                          {fleet: ""},
		"all are well":                        {fleet: "r,r,r"},
		"one of two":                          {fleet: "r,0"},
		"one of three":                        {fleet: "r,r,0"},
		"half of four":                        {fleet: "r,r,0,5"},
		"most, at once":                       {fleet: "r,0,5,15", want: []string{"c1", "c2", "c3"}, of: 4},
		"most, one after the other":           {fleet: "r,0,1000,2000"},
		"all that there are":                  {fleet: "0,10", want: []string{"c0", "c1"}, of: 2},
		"the only one":                        {fleet: "0", want: []string{"c0"}, of: 1},
		"one that never spoke does not count": {fleet: "n,n,r,0"},
		"those that were gone before do not count": {fleet: "0,100,r,5000,5001", want: []string{"c3", "c4"}, of: 3},
		"the last of all, long after the others":   {fleet: "0,1000,5000", want: []string{"c2"}, of: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var clusters []*clusterv1alpha1.Cluster
			for i, word := range strings.FieldsFunc(tc.fleet, func(r rune) bool { return r == ',' }) {
				c := builder.MakeCluster(fmt.Sprintf("c%d", i)).Obj()
				ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)}
				switch word {
				case "r":
				case "n":
					ready.Status, ready.Reason = metav1.ConditionUnknown, clusterv1alpha1.ReasonClusterStatusNeverUpdated
				default:
					var second int
					_, err := fmt.Sscan(word, &second)
					g.Expect(err).NotTo(HaveOccurred())
					ready.Status, ready.LastTransitionTime = metav1.ConditionUnknown, metav1.NewTime(start.Add(time.Duration(second)*time.Second))
				}
				c.Status.Conditions = []metav1.Condition{ready}
				clusters = append(clusters, c)
			}
			got := Decide(clusters, start)
			g.Expect(sets.List(got.Silent)).To(ConsistOf(tc.want))
			g.Expect(got.Of).To(Equal(tc.of))
			for _, c := range clusters {
				g.Expect(got.Message(c.Name) != "").To(Equal(slices.Contains(tc.want, c.Name)))
			}
		})
	}
}

func TestThoseThatAreNotBackYetAreGivenTime(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	silent := func(name, reason string, since time.Duration) *clusterv1alpha1.Cluster {
		c := builder.MakeCluster(name).Obj()
		c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionUnknown, LastTransitionTime: metav1.NewTime(start)}}
		if reason != "" {
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
				Type: "EvictionSuspended", Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(start.Add(since)),
			})
		}
		return c
	}
	ready := func(name string) *clusterv1alpha1.Cluster {
		c := builder.MakeCluster(name).Obj()
		c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)}}
		return c
	}
	tests := map[string]struct {
		last  *clusterv1alpha1.Cluster
		at    time.Duration
		until time.Duration
	}{
		"one that was never doubted is believed": {last: silent("c2", "", 0), at: time.Minute},
		"one that was doubted until now":         {last: silent("c2", "HubSuspectsItself", 0), at: time.Hour, until: time.Hour + Respite},
		"it is given that time once":             {last: silent("c2", "OthersAreBack", time.Hour), at: time.Hour + time.Minute, until: time.Hour + Respite},
		"and then it is believed":                {last: silent("c2", "OthersAreBack", time.Hour), at: time.Hour + Respite},
		"one that is back needs none":            {last: ready("c2"), at: time.Minute},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := Decide([]*clusterv1alpha1.Cluster{ready("c0"), ready("c1"), tc.last}, start.Add(tc.at))
			g.Expect(got.Silent).To(BeEmpty())
			g.Expect(got.Suspended("c2")).To(Equal(tc.until > 0))
			if tc.until > 0 {
				g.Expect(got.Awaited).To(Equal(map[string]time.Time{"c2": start.Add(tc.until)}))
				g.Expect(got.Reason("c2")).To(Equal("OthersAreBack"))
			}
		})
	}
	g := NewWithT(t)
	got := Decide([]*clusterv1alpha1.Cluster{ready("c0"), silent("c1", "OthersAreBack", 0), silent("c2", "OthersAreBack", 0)}, start)
	g.Expect(got.Reason("c2")).To(Equal("HubSuspectsItself"), "most are gone again")
	g.Expect(got.Awaited).To(BeEmpty())
}
