package merge_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/interpreter/lua/merge"
)

func condition(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1] //nolint:errcheck,forcetypeassert // It is one.
	}
	return out
}

func reporting(cluster string, conditions ...any) merge.Item {
	return merge.Item{Cluster: cluster, Status: map[string]any{"conditions": conditions}}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ready := func(status, message, at string) map[string]any {
		return condition("type", "Ready", "status", status, "reason", "R", "message", message, "lastTransitionTime", at, "observedGeneration", int64(3))
	}
	items := []merge.Item{
		reporting("a", ready("True", "well", "2026-01-01"), "no condition", nil), reporting("b", ready("False", "ill", "2026-01-02")),
		reporting("c", ready("True", "fine", "2026-01-03")),
		{Cluster: "d"},
		{Cluster: "e", Status: map[string]any{"conditions": "none"}},
	}
	g.Expect(merge.Conditions(items)).To(Equal([]any{
		condition("type", "Ready", "status", "False", "reason", "R", "message", "b=ill", "lastTransitionTime", "2026-01-02"),
		condition("type", "Ready", "status", "True", "reason", "R", "message", "a=well, c=fine", "lastTransitionTime", "2026-01-03"),
	}))
	g.Expect(items[0].Status["conditions"]).To(HaveExactElements(ready("True", "well", "2026-01-01"), "no condition", nil), "what went in stays")
	g.Expect(merge.Conditions(nil)).To(BeEmpty())
}

func TestByType(t *testing.T) {
	t.Parallel()
	source := func(cluster string, current bool, conditions ...any) merge.Source {
		return merge.Source{Cluster: cluster, Conditions: conditions, Current: current}
	}
	of := func(status, message string) map[string]any {
		return condition("type", "Ready", "status", status, "reason", "Is"+status, "message", message, "observedGeneration", int64(1))
	}
	tests := map[string]struct {
		sources []merge.Source
		bad     []string
		want    map[string]any
	}{
		"all are well": {
			sources: []merge.Source{source("a", true, of("True", "x")), source("b", true, of("True", "y"))},
			want:    condition("type", "Ready", "status", "True", "reason", "IsTrue", "message", "a=x, b=y", "observedGeneration", int64(2)),
		},
		"one speaks of an older template": {
			sources: []merge.Source{source("a", true, of("True", "x")), source("b", false, of("True", ""))},
			want:    condition("type", "Ready", "status", "True", "reason", "IsTrue", "message", "a=x"),
		},
		"the worst counts": {
			sources: []merge.Source{source("a", true, of("True", "x")), source("b", true, of("False", "ill")), source("c", true, of("Odd", ""))},
			want:    condition("type", "Ready", "status", "False", "reason", "IsFalse", "message", "b=ill", "observedGeneration", int64(2)),
		},
		"who says nothing is not well": {
			sources: []merge.Source{source("a", true, of("True", "x")), source("b", true), source("c", true)},
			want:    condition("type", "Ready", "status", "Unknown", "reason", "NotReported", "message", "not reported by b, c"),
		},
		"what is bad is bad where it is True": {
			sources: []merge.Source{source("a", true, of("True", "x")), source("b", true, of("False", "y")), source("c", true)}, bad: []string{"Ready"},
			want: condition("type", "Ready", "status", "True", "reason", "IsTrue", "message", "a=x", "observedGeneration", int64(2)),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(merge.ByType(tt.sources, tt.bad, int64(2))).To(Equal([]any{tt.want}))
		})
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	item := func(status map[string]any) merge.Item { return merge.Item{Cluster: "c", Status: status} }
	items := []merge.Item{
		item(map[string]any{"n": int64(2), "url": "x", "phase": map[string]any{"name": "up"}}), item(map[string]any{"n": "1.5", "url": ""}),
		item(nil), item(map[string]any{"n": "nan", "list": []any{}}),
	}
	g.Expect(merge.Sum(items, []string{"n", "none"})).To(Equal(map[string]any{"n": 3.5, "none": 0.0}))
	g.Expect(merge.Last(items, []string{"url", "list", "none"})).To(Equal(map[string]any{"url": "x", "list": []any{}}))
	at, ok := merge.Extreme(items, "url", false)
	g.Expect([]any{at, ok}).To(Equal([]any{"", true}))
	at, _ = merge.Extreme(items, "url", true)
	g.Expect(at).To(Equal("x"))
	_, ok = merge.Extreme(items, "list", true)
	g.Expect(ok).To(BeFalse())
	said, ok := merge.Joined(items, []string{"phase", "name"})
	g.Expect([]any{said, ok}).To(Equal([]any{"c=up", true}))
	_, ok = merge.Joined(items, []string{"url", "name"})
	g.Expect(ok).To(BeFalse())

	seen := item(map[string]any{"observedGeneration": int64(4), "generation": int64(4), "resourceTemplateGeneration": int64(2)})
	g.Expect(merge.ObservedBy([]merge.Item{seen, seen}, 2)).To(BeTrue())
	g.Expect(merge.ObservedBy([]merge.Item{seen}, 3)).To(BeFalse())
	g.Expect(merge.ObservedBy([]merge.Item{seen, item(nil)}, 2)).To(BeFalse())
	g.Expect(merge.Current(seen, 2)).To(BeTrue())
	g.Expect(merge.Current(item(nil), 1)).To(BeFalse())
}

// TestOddStatusesOfConditions has clusters report malformed conditions.
func TestOddStatusesOfConditions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sources := []merge.Source{}
	for _, odd := range []any{map[string]any{}, []any{}, nil, int64(1)} {
		sources = append(sources,
			merge.Source{Cluster: "a", Conditions: []any{condition("type", "Ready", "status", odd, "reason", odd, "message", odd, "lastTransitionTime", odd)}},
			merge.Source{Cluster: "b", Conditions: []any{condition("type", "Ready", "status", odd, "message", "m")}})
	}
	for _, bad := range [][]string{nil, {"Ready"}} {
		g.Expect(merge.ByType(sources, bad, int64(1))).To(ConsistOf(SatisfyAll(HaveKeyWithValue("type", "Ready"), HaveKeyWithValue("status", "Unknown"))))
	}
}

// TestWhatComesOutIsBounded has clusters report a lot of distinct content.
func TestWhatComesOutIsBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	items, sources := []merge.Item{}, []merge.Source{}
	for i := range 500 {
		c := condition("type", fmt.Sprintf("T%d", i), "status", "True", "reason", "R", "message", strings.Repeat("é", 3000))
		items = append(items, reporting(fmt.Sprintf("edge-%d", i), c, condition("type", "Ready", "status", "True", "message", strings.Repeat("é", 30))))
		sources = append(sources, merge.Source{Cluster: items[i].Cluster, Conditions: items[i].Status["conditions"]})
	}
	for _, out := range [][]any{merge.Conditions(items), merge.ByType(sources, nil, int64(1))} {
		g.Expect(out).To(HaveLen(50))
		for _, entry := range out {
			message, _ := entry.(map[string]any)["message"].(string)
			g.Expect(len(message)).To(BeNumerically("<", 9000))
			g.Expect(strings.ToValidUTF8(message, "?")).To(Equal(message))
		}
	}
}
