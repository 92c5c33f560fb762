package cluster

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/filled"
)

// worksOf returns a stage whose cache contains the Works of one cluster and their namespace. It cannot write.
func worksOf(tb testing.TB, size filled.Fleet) (r *Reconciler, namespace string) {
	tb.Helper()
	objects := []client.Object{}
	for i := range size.Bindings {
		objects = append(objects, size.Work(i))
	}
	hub := filled.New(tb, cache.Options{}, objects...).Client
	return &Reconciler{hubClient: hub, hubReader: hub}, contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, filled.ClusterName(0))
}

// TestARemovalChangesNoWorkOfTheCache has a write fail: the cache, which all stages read, must not show a change that
// was not written.
func TestARemovalChangesNoWorkOfTheCache(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	size := filled.Fleet{Clusters: 1, Bindings: 3}
	r, namespace := worksOf(t, size)
	works, err := kube.WorksIn(t.Context(), r.hubClient, namespace)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(works).To(HaveLen(size.Bindings))
	_, err = r.drain(t.Context(), size.Cluster(0), works)
	g.Expect(err).To(MatchError(ContainSubstring("releasing work")))
	again, err := kube.WorksIn(t.Context(), r.hubClient, namespace)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sets.New(again...)).To(Equal(sets.New(works...)), "nothing is copied")
	g.Expect(again).To(HaveEach(HaveField("Finalizers", ConsistOf(contract.ExecutionFinalizer))))
}

// BenchmarkWorksOfARemoval measures one pass over the Works of a cluster being removed, which happens twice a second.
func BenchmarkWorksOfARemoval(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		r, namespace := worksOf(b, filled.Fleet{Clusters: 1, Bindings: n})
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				works, err := kube.WorksIn(b.Context(), r.hubClient, namespace)
				if err != nil || len(works) != n {
					b.Fatal(len(works), err)
				}
			}
			cpu()
		})
	}
}
