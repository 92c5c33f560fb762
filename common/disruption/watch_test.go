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

// look is a cluster as seen at a second of the hub's clock. Its Ready condition has that second by the clock of its
// writer, which is the agent unless the condition is Unknown.
type look struct {
	at     int
	status metav1.ConditionStatus
	reason string
	uid    types.UID
	// again means that the condition is that of the previous look.
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
				w.Observe(c, DefaultSilence, now)
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

func TestAWatchBeginsAnewWhenItsProcessWasStopped(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var w Watch
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	w.Began(noon)
	for s := range 10 {
		w.Tick(at(s))
	}
	g.Expect(w.Began(at(14))).To(Equal(noon), "a tick may be late")
	g.Expect(w.Began(at(600))).To(Equal(at(600)), "it is asked before the first tick")
	w.Tick(at(601))
	g.Expect(w.Began(at(602))).To(Equal(at(600)))
	w.Tick(at(900))
	g.Expect(w.Began(at(901))).To(Equal(at(900)))
	w.Restart(at(902))
	g.Expect(w.Began(at(903))).To(Equal(at(902)))
}

// TestAWatchGoesByTheWallClock checks the wall clock is used: the monotonic one stands still while a machine is
// suspended.
func TestAWatchGoesByTheWallClock(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var w Watch
	now := time.Now()
	g.Expect(now).NotTo(Equal(now.Round(0)), "it has a monotonic reading")
	w.Tick(now)
	g.Expect(w.ticked).To(Equal(now.Round(0)))
	g.Expect(w.Began(now)).To(Equal(now.Round(0)))
	w.Restart(now)
	g.Expect(w.began).To(Equal(now.Round(0)))
}

func TestAHubThatWaitsForItsTurnFollowsNobody(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var w Watch
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	w.Tick(noon)
	for s := 600; s <= 4200; s++ { // it was stopped for ten minutes, and then ticks for an hour
		w.Tick(at(s))
	}
	g.Expect(w.Began(at(4201))).To(Equal(at(4201)))
}

func TestAWatchForgetsWhatAClockSaidThatWasAhead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var w Watch
	g.Expect(w.Began(noon)).To(Equal(noon))
	w.Tick(noon)
	w.Tick(noon.Add(24 * time.Hour))
	w.Tick(noon.Add(time.Second))
	g.Expect(w.Began(noon.Add(time.Second))).To(Equal(noon.Add(time.Second)))
}
