package evict

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// TestTheFirstItemOfAClusterCounts holds that it is the first that it says of it, in whatever order it says that.
func TestTheFirstItemOfAClusterCounts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(4, 4))
	shown := 0
	for range 1000 {
		in := Input{Status: &workv1alpha2.ResourceBindingStatus{}}
		for range random.IntN(8) {
			in.Status.AggregatedStatus = append(in.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{ClusterName: fmt.Sprint("edge-", random.IntN(8))})
		}
		for i := range 8 {
			name := fmt.Sprint("edge-", i)
			first := slices.IndexFunc(in.Status.AggregatedStatus, func(item workv1alpha2.AggregatedStatusItem) bool { return item.ClusterName == name })
			if first < 0 {
				g.Expect(in.item(name)).To(BeNil())
				continue
			}
			shown++
			g.Expect(in.item(name)).To(BeIdenticalTo(&in.Status.AggregatedStatus[first]))
		}
	}
	g.Expect(shown).To(BeNumerically(">", 1000))
}

// BenchmarkDecide measures a decision on an application in this many clusters, ten of which are being left, each by its
// own task that waits for the last of the others to be healthy.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		in := given(duplicated, func(in *Input) { in.Spec.Clusters, in.Status.AggregatedStatus = nil, nil })
		for i := range n {
			name := fmt.Sprintf("edge-%05d", i)
			ready(name, metav1.ConditionTrue)(&in)
			if i < 10 {
				taint(name)(&in)
				task(func(task *workv1alpha2.GracefulEvictionTask) { task.FromCluster = name })(&in)
				continue
			}
			in.Spec.Clusters = append(in.Spec.Clusters, target(name, 2))
			health := workv1alpha1.Healthy
			if i == n-1 {
				health = workv1alpha1.Unhealthy
			}
			report(name, health, 2)(&in)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d := Decide(in); len(d.Ended) > 0 {
					b.Fatal(d.Ended)
				}
			}
		})
	}
}
