package aggregate

import (
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func items(names ...string) []workv1alpha2.AggregatedStatusItem {
	out := make([]workv1alpha2.AggregatedStatusItem, len(names))
	for i, name := range names {
		out[i] = workv1alpha2.AggregatedStatusItem{ClusterName: name, Applied: true}
	}
	return out
}

func TestReportsOfSilentClustersAreStale(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := append(items("edge-1", "edge-2", "edge-3"), workv1alpha2.AggregatedStatusItem{ClusterName: "mute"})
	message, silent := Staleness(all)
	g.Expect(silent).To(BeZero())
	g.Expect(message).To(Equal("Made of the reports of 4 clusters."))
	g.Expect(stale(Input{}, all)).To(BeNil())

	age(all, map[string]time.Time{"edge-2": noon.Add(time.Minute), "mute": noon})
	message, _ = Staleness(all)
	g.Expect(message).To(Equal("1 of 4 clusters is silent, and its last report is shown: edge-2 since 2026-05-01T12:01:00Z."), "mute has not said anything")
	age(all, map[string]time.Time{"edge-1": noon})
	c := stale(Input{Generation: 3, Now: noon}, all)
	g.Expect(c.Message).To(Equal("2 of 4 clusters are silent, and their last reports are shown: edge-1, edge-2, the first since 2026-05-01T12:00:00Z."))
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

	asAPIReturnsIt := maps.Clone(current)
	asAPIReturnsIt["lastUpdateTime"] = nil
	returned := map[string]any{"conditions": []any{map[string]any{"type": "Available"}, asAPIReturnsIt}}
	MarkTemplate("Deployment", "apps/v1", returned, all, noon.Add(time.Hour))
	g.Expect(returned["conditions"]).To(Equal([]any{map[string]any{"type": "Available"}, asAPIReturnsIt}), "nothing has changed either")

	age(all, map[string]time.Time{"edge-1": noon})
	MarkTemplate("Deployment", "apps/v1", status, all, noon.Add(time.Hour))
	g.Expect(status["conditions"]).To(ContainElement(And(
		HaveKeyWithValue("status", "False"), HaveKeyWithValue("reason", "ClustersSilent"), HaveKeyWithValue("lastTransitionTime", "2026-05-01T13:00:00Z"),
	)))
	empty := map[string]any{}
	g.Expect(MarkTemplate("Deployment", "apps/v1", empty, nil, noon)).To(BeTrue())
	g.Expect(empty).To(BeEmpty())
}
