package aggregate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// TestTheLargestStatusesGiveWay checks for random sizes that no more statuses are removed than necessary, and always the first of the
// largest remaining.
func TestTheLargestStatusesGiveWay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(3, 14))
	leftOut := 0
	for range 300 {
		items := make([]workv1alpha2.AggregatedStatusItem, random.IntN(30))
		sizes, total := make([]int, len(items)), 0
		for i := range items {
			items[i].ClusterName = fmt.Sprintf("edge-%02d", i)
			if random.IntN(5) > 0 {
				sizes[i] = 1000 + random.IntN(5)*20_000 // often the same
				items[i].Status = &runtime.RawExtension{Raw: []byte(strings.Repeat("x", sizes[i]))}
			}
			total += sizes[i]
		}
		for total > maxStatuses {
			first := slices.Index(sizes, slices.Max(sizes))
			total -= sizes[first]
			sizes[first] = 0
			leftOut++
		}
		fitStatuses(items, maxStatuses)
		for i := range items {
			g.Expect(size(&items[i])).To(Equal(sizes[i]))
		}
	}
	g.Expect(leftOut).To(BeNumerically(">", 100))
}

// TestLeavingClustersAreNoTargets holds of any targets that are chosen or needed there by others, in any order, that those
// leave which report and are none.
func TestLeavingClustersAreNoTargets(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(15, 9))
	some := func() []string {
		var out []string
		for _, i := range random.Perm(8)[:random.IntN(8)] {
			out = append(out, fmt.Sprint("edge-", i))
		}
		return out
	}
	left := 0
	for range 1000 {
		spec, needed := to(some()...), to(some()...)
		spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Name: "by", Clusters: needed.Clusters}}
		var reports []Report
		var want []string
		for _, name := range some() {
			reports = append(reports, well(name))
			if !bindings.IsTarget(spec, name) {
				want = append(want, name)
			}
		}
		reports = order(reports)
		slices.Sort(want)
		g.Expect(classify(bindings.Places(spec), reports, Items(reports, reference())).leaving).To(Equal(want))
		left += len(want)
	}
	g.Expect(left).To(BeNumerically(">", 100))
}

// BenchmarkDecide measures deciding the status of a binding after a report of one cluster, with typical statuses of Deployments.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		var names []string
		var reports []Report
		for i := range n {
			names = append(names, fmt.Sprintf("edge-%05d", i))
			reports = append(reports, with(well(names[i]), func(w *workv1alpha1.Work) {
				w.Status.ManifestStatuses[0].Status.Raw = []byte(`{"availableReplicas":2,"generation":1,"observedGeneration":1,"readyReplicas":2,"replicas":2,"resourceTemplateGeneration":2,"updatedReplicas":2}`)
			}))
		}
		in := Input{Generation: 1, Created: now(), Spec: to(names...), Status: &workv1alpha2.ResourceBindingStatus{
			Conditions: []metav1.Condition{{Type: workv1alpha2.BindingFullyApplied, Status: metav1.ConditionFalse}},
		}, Reports: reports, Now: now()}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d := Decide(in); len(d.Items) != n {
					b.Fatal(len(d.Items))
				}
			}
		})
	}
}
