package bindings

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// leaves returns a binding with eviction tasks from these clusters.
func leaves(clusters ...string) *workv1alpha2.ResourceBindingSpec {
	out := &workv1alpha2.ResourceBindingSpec{}
	for _, name := range clusters {
		out.GracefulEvictionTasks = append(out.GracefulEvictionTasks, workv1alpha2.GracefulEvictionTask{FromCluster: name})
	}
	return out
}

// had are targets by name.
func had(clusters ...string) []workv1alpha2.TargetCluster {
	out := make([]workv1alpha2.TargetCluster, len(clusters))
	for i, name := range clusters {
		out[i].Name = name
	}
	return out
}

func TestReplacing(t *testing.T) {
	t.Parallel()
	over := workv1alpha2.Eviction{From: "x", Before: had("x"), Ended: &metav1.Time{}}
	from := func(cluster string, before ...string) workv1alpha2.Eviction {
		return workv1alpha2.Eviction{From: cluster, Before: had(before...)}
	}
	tests := map[string]struct {
		leaves []string
		past   []workv1alpha2.Eviction
		want   []string
	}{
		"nothing is remembered":                    {leaves: []string{"x"}},
		"nothing is left any more":                 {past: []workv1alpha2.Eviction{from("x", "x")}},
		"an eviction that is over":                 {leaves: []string{"x"}, past: []workv1alpha2.Eviction{over}},
		"who had none before":                      {leaves: []string{"x"}, past: []workv1alpha2.Eviction{from("x", "x", "a", "b")}, want: []string{"c"}},
		"it is not known who had one before":       {leaves: []string{"x"}, past: []workv1alpha2.Eviction{{From: "x"}}},
		"nor before one of two":                    {leaves: []string{"x", "y"}, past: []workv1alpha2.Eviction{{From: "x"}, from("y", "y", "a", "b")}, want: []string{"c"}},
		"nobody else had one":                      {leaves: []string{"x"}, past: []workv1alpha2.Eviction{from("x", "x")}, want: []string{"a", "b", "c"}},
		"all had one":                              {leaves: []string{"x"}, past: []workv1alpha2.Eviction{from("x", "a", "b", "c", "x")}},
		"who had none before one of two":           {leaves: []string{"x", "y"}, past: []workv1alpha2.Eviction{from("x", "x", "y", "a"), from("y", "y", "a", "b")}, want: []string{"b", "c"}},
		"who had one before the second only":       {leaves: []string{"x", "y"}, past: []workv1alpha2.Eviction{from("x", "x"), from("y", "a", "b", "c", "y")}, want: []string{"a", "b", "c"}},
		"one of two that is not left any more":     {leaves: []string{"y"}, past: []workv1alpha2.Eviction{from("x", "x"), from("y", "a", "b", "y")}, want: []string{"c"}},
		"who is named twice before the first only": {leaves: []string{"x", "y"}, past: []workv1alpha2.Eviction{from("x", "a", "a", "b"), from("y", "b", "b")}, want: []string{"a", "c"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := Replacing(leaves(tt.leaves...), tt.past, had("a", "b", "c"))
			g.Expect(got).To(HaveLen(len(tt.want)))
			for i := range got {
				g.Expect(got[i].Name).To(Equal(tt.want[i]))
			}
		})
	}
}

// TestReplacingByTheRule compares Replacing with a naive implementation of the rule, one target at a time.
func TestReplacingByTheRule(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(7, 7))
	some := func() []string {
		var out []string
		for i := range 8 {
			if random.IntN(4) > 0 {
				out = append(out, fmt.Sprint("c", i))
			}
		}
		return out
	}
	found := 0
	for range 2000 {
		spec, targets := leaves(some()...), had(some()...)
		var past []workv1alpha2.Eviction
		for range random.IntN(4) {
			e := workv1alpha2.Eviction{From: fmt.Sprint("c", random.IntN(8)), Before: had(some()...)}
			if random.IntN(4) == 0 {
				e.Ended = &metav1.Time{}
			}
			past = append(past, e)
		}
		var want []workv1alpha2.TargetCluster
		for _, target := range targets {
			if slices.ContainsFunc(past, func(e workv1alpha2.Eviction) bool {
				named := func(was workv1alpha2.TargetCluster) bool { return was.Name == target.Name }
				return e.Ended == nil && Leaving(spec, e.From) && !slices.ContainsFunc(e.Before, named)
			}) {
				want = append(want, target)
			}
		}
		found += len(want)
		g.Expect(Replacing(spec, past, targets)).To(Equal(want))
	}
	g.Expect(found).To(BeNumerically(">", 1000))
}

// TestReplacingAtOnce checks that evictions of one moment, which share one Before slice, count as a single one.
func TestReplacingAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	spec, before := leaves("x", "y", "z"), had("x", "y", "z", "a")
	past := []workv1alpha2.Eviction{{From: "x", Before: before}, {From: "y", Before: before}, {From: "z", Before: had("a", "b")}}
	g.Expect(Replacing(spec, past, had("a", "b"))).To(Equal(had("b")))
	g.Expect(Replacing(spec, past[:2], had("a", "b"))).To(Equal(had("b")))
	empty := []workv1alpha2.Eviction{{From: "x", Before: had()}, {From: "y", Before: had()}}
	g.Expect(Replacing(spec, empty, had("a"))).To(Equal(had("a")))
	g.Expect(Replacing(spec, past, nil)).To(BeEmpty())
	g.Expect(same(before, past[1].Before)).To(BeTrue())
	g.Expect(same(before, had("x", "y", "z", "a"))).To(BeFalse(), "nobody compares thousands")
	g.Expect(same(before, before[:3])).To(BeFalse())
}

// BenchmarkReplacing measures the search for the targets that replace ten copies of an application in 5,000 clusters.
func BenchmarkReplacing(b *testing.B) {
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprintf("a-cluster-with-a-name-of-40-letters-%04d", i)
	}
	spec, targets := leaves(names[:10]...), had(names[10:]...)
	one := had(names...)
	var past, atOnce []workv1alpha2.Eviction
	for i := range 10 {
		past = append(past, workv1alpha2.Eviction{From: names[i], Before: had(names[i:]...)})
		atOnce = append(atOnce, workv1alpha2.Eviction{From: names[i], Before: one})
	}
	for name, tt := range map[string]struct {
		past    []workv1alpha2.Eviction
		targets []workv1alpha2.TargetCluster
	}{"one after the other": {past, targets}, "at once": {atOnce, targets}, "for nobody": {past, nil}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := Replacing(spec, tt.past, tt.targets); len(got) > 0 {
					b.Fatal(got)
				}
			}
		})
	}
}
