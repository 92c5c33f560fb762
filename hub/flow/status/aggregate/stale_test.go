package aggregate

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/builder"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestSilentSince(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status metav1.ConditionStatus
		reason string
		want   bool
	}{
		"a cluster that is heard from":             {status: metav1.ConditionTrue, reason: "ClusterReady"},
		"one that is not":                          {status: metav1.ConditionUnknown, reason: "ClusterStatusUnknown", want: true},
		"one whose agent does not reach the API":   {status: metav1.ConditionFalse, reason: "ClusterNotReachable", want: true},
		"one that says that it is not ready":       {status: metav1.ConditionFalse, reason: "ClusterNotReady"},
		"one of which nothing was ever heard also": {status: metav1.ConditionUnknown, reason: "ClusterStatusNeverUpdated", want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := builder.MakeCluster("edge-1").Obj()
			c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: tc.status, Reason: tc.reason, LastTransitionTime: metav1.NewTime(noon)}}
			NewWithT(t).Expect(SilentSince(c).Equal(noon)).To(Equal(tc.want))
		})
	}
	NewWithT(t).Expect(SilentSince(builder.MakeCluster("edge-1").Obj()).IsZero()).To(BeTrue(), "a new one")
}

func items(names ...string) []workv1alpha2.AggregatedStatusItem {
	out := make([]workv1alpha2.AggregatedStatusItem, len(names))
	for i, name := range names {
		out[i] = workv1alpha2.AggregatedStatusItem{ClusterName: name, Applied: true}
	}
	return out
}

func TestWhatSilentClustersSaidIsShownAsStale(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := append(items("edge-1", "edge-2", "edge-3"), workv1alpha2.AggregatedStatusItem{ClusterName: "mute"})
	message, silent := Staleness(all)
	g.Expect(silent).To(BeZero())
	g.Expect(message).To(Equal("Made of the reports of 4 clusters."))
	g.Expect(stale(Input{}, all)).To(BeNil())

	age(all, map[string]time.Time{"edge-2": noon.Add(time.Minute), "mute": noon})
	message, _ = Staleness(all)
	g.Expect(message).To(Equal("1 of 4 clusters is silent, what it said last is shown: edge-2 since 2026-05-01T12:01:00Z."), "mute has not said anything")
	age(all, map[string]time.Time{"edge-1": noon})
	c := stale(Input{Generation: 3, Now: noon}, all)
	g.Expect(c.Message).To(Equal("2 of 4 clusters are silent, what they said last is shown: edge-1, edge-2, the first since 2026-05-01T12:00:00Z."))
	g.Expect(c.ObservedGeneration).To(BeEquivalentTo(3))
}

func TestATemplateSaysHowManyClustersItsStatusIsMadeOf(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	status := map[string]any{"replicas": int64(3), "conditions": []any{map[string]any{"type": "Available"}}}
	g.Expect(MarkTemplate("Job", "batch/v1", status, items("edge-1"), noon)).To(BeFalse())
	g.Expect(status["conditions"]).To(HaveLen(1))

	all := items("edge-1", "edge-2")
	g.Expect(MarkTemplate("Deployment", "apps/v1", status, all, noon)).To(BeTrue())
	current := map[string]any{
		"type": "fairlead.dev/Current", "status": "True", "reason": "AllReport", "message": "Made of the reports of 2 clusters.", "lastTransitionTime": "2026-05-01T12:00:00Z",
	}
	g.Expect(status["conditions"]).To(Equal([]any{map[string]any{"type": "Available"}, current}))
	g.Expect(MarkTemplate("Deployment", "apps/v1", status, all, noon.Add(time.Hour))).To(BeTrue())
	g.Expect(status["conditions"]).To(Equal([]any{map[string]any{"type": "Available"}, current}), "nothing has changed")

	age(all, map[string]time.Time{"edge-1": noon})
	MarkTemplate("Deployment", "apps/v1", status, all, noon.Add(time.Hour))
	g.Expect(status["conditions"]).To(ContainElement(And(
		HaveKeyWithValue("status", "False"), HaveKeyWithValue("reason", "ClustersSilent"), HaveKeyWithValue("lastTransitionTime", "2026-05-01T13:00:00Z"),
	)))
	empty := map[string]any{}
	g.Expect(MarkTemplate("Deployment", "apps/v1", empty, nil, noon)).To(BeTrue())
	g.Expect(empty).To(BeEmpty())
}
