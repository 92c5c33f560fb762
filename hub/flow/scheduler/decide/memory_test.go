package decide_test

import (
	"runtime"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/decide"
)

// TestDecideDoesNotAllocatePerCluster measures what a decision among many clusters allocates after a similar one. Only the result,
// which has few clusters, and what depends on the placement and the size of the application may remain.
func TestDecideDoesNotAllocatePerCluster(t *testing.T) { //nolint:paralleltest // other tests would allocate at the same time
	const clusters, most = 3000, 10 // bytes per cluster
	everywhere := func(in *decide.Input) {
		in.Spec.Clusters = decide.Decide(*in).Targets
	}
	for name, change := range map[string]func(*decide.Input){
		"static": divided, "dynamic": byRoom, "aggregated": aggregated, "spread": overRegions, "where it is": everywhere,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := input(with(shops(clusters)...), func(in *decide.Input) {
				in.Spec.Replicas, in.Memo = 20, &decide.Memo{}
				in.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}}
				in.Spec.Placement.ClusterTolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
			}, change)
			decisions := func(n int) {
				for range n {
					g.Expect(decide.Decide(in).Outcome).To(Equal(decide.Scheduled))
				}
			}
			decisions(3)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			decisions(20)
			runtime.ReadMemStats(&after)
			g.Expect((after.TotalAlloc - before.TotalAlloc) / 20 / clusters).To(BeNumerically("<", most))
		})
	}
}
