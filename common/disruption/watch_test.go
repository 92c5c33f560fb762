package disruption

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/test/builder"
)

// look is how a cluster is at a second of the hub's clock. Its condition Ready is of that second by the clock of who wrote
// it, which is the agent's if it is not Unknown.
type look struct {
	at     int
	status metav1.ConditionStatus
	reason string
	uid    types.UID
	// again says that the condition is that of the look before.
	again bool
}

func TestSinceWhenAClusterIsHeard(t *testing.T) {
	t.Parallel()
	const (
		up, notReady, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
		lost, stopped         = clusterv1alpha1.ReasonAgentDisconnected, clusterv1alpha1.ReasonClusterStatusUnknown
	)
	tests := map[string]struct {
		looks []look
		// skew is how far the agent's clock is ahead.
		skew int
		want int
	}{
		"as its condition says":                      {looks: []look{{at: 0, status: up}}, want: 0},
		"a report that changes nothing":              {looks: []look{{at: 0, status: up}, {at: 30, status: up, again: true}}, want: 0},
		"a line that was lost for three seconds":     {looks: []look{{at: 0, status: up}, {at: 100, status: unknown, reason: lost}, {at: 103, status: up}}, want: 3},
		"twice":                                      {looks: []look{{at: 0, status: up}, {at: 100, status: unknown, reason: lost}, {at: 103, status: up}, {at: 200, status: unknown, reason: lost}, {at: 204, status: up}}, want: 7},
		"and said again while it is lost":            {looks: []look{{at: 0, status: up}, {at: 100, status: unknown, reason: lost}, {at: 102, status: unknown, reason: lost, again: true}, {at: 103, status: up}}, want: 3},
		"by clocks that differ":                      {looks: []look{{at: 0, status: up}, {at: 100, status: unknown, reason: lost}, {at: 103, status: up}}, skew: 3600, want: 3603},
		"just less than it takes to give it up":      {looks: []look{{at: 0, status: up}, {at: 100, status: unknown, reason: lost}, {at: 139, status: up}}, want: 39},
		"a line that was lost for as long as that":   {looks: []look{{at: 0, status: up}, {at: 100, status: unknown, reason: lost}, {at: 140, status: up}}, want: 140},
		"a lease that was not renewed":               {looks: []look{{at: 0, status: up}, {at: 100, status: unknown, reason: stopped}, {at: 103, status: up}}, want: 103},
		"both":                                       {looks: []look{{at: 0, status: up}, {at: 100, status: unknown, reason: lost}, {at: 101, status: unknown, reason: stopped}, {at: 103, status: up}}, want: 103},
		"one that comes back and is not ready":       {looks: []look{{at: 0, status: up}, {at: 100, status: unknown, reason: lost}, {at: 103, status: notReady}}, want: 103},
		"one that was not ready before and after":    {looks: []look{{at: 0, status: notReady}, {at: 100, status: unknown, reason: lost}, {at: 103, status: notReady}}, want: 3},
		"another change":                             {looks: []look{{at: 0, status: up}, {at: 50, status: notReady}, {at: 60, status: up}}, want: 60},
		"another cluster of the name":                {looks: []look{{at: 0, status: up, uid: "1"}, {at: 100, status: unknown, reason: lost, uid: "2"}, {at: 103, status: up, uid: "2"}}, want: 103},
		"a stage that starts while the line is lost": {looks: []look{{at: 100, status: unknown, reason: lost}, {at: 103, status: up}}, want: 103},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var w Watch
			c := builder.MakeCluster("edge-1").Obj()
			for _, l := range tc.looks {
				now := noon.Add(time.Duration(l.at) * time.Second)
				written := now
				if l.status != unknown {
					written = now.Add(time.Duration(tc.skew) * time.Second)
				}
				if !l.again {
					c.UID = l.uid
					c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: l.status, Reason: l.reason, LastTransitionTime: metav1.NewTime(written)}}
				}
				w.See(c, DefaultSilence, now)
			}
			g.Expect(w.HeardSince(c)).To(Equal(noon.Add(time.Duration(tc.want) * time.Second)))
			w.Gone(c.Name)
			g.Expect(w.HeardSince(c)).To(Equal(c.Status.Conditions[0].LastTransitionTime.Time), "what was forgotten")
		})
	}
}

func TestNothingIsHeardOfAClusterThatIsUnknown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var w Watch
	c := builder.MakeCluster("edge-1").Obj()
	g.Expect(w.HeardSince(c)).To(BeZero())
	c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionUnknown, LastTransitionTime: metav1.NewTime(noon)}}
	g.Expect(w.HeardSince(c)).To(BeZero())
}

func TestAWatchBeganWhenItWasAskedFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var w Watch
	g.Expect(w.Began(noon)).To(Equal(noon))
	g.Expect(w.Began(noon.Add(time.Hour))).To(Equal(noon))
}
