package fit_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/fit"
	"fairlead.dev/test/filled"
)

// BenchmarkPeers runs the filters on all clusters for an application with affinity to ten others, which are in every cluster.
func BenchmarkPeers(b *testing.B) {
	for _, n := range []int{500, 5000} {
		self := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "self"}}
		self.Spec.WorkloadAffinityGroups = &workv1alpha2.WorkloadAffinityGroups{AffinityGroup: "app=a"}
		var clusters []*clusterv1alpha1.Cluster
		var targets []workv1alpha2.TargetCluster
		for i := range n {
			c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("edge-%05d", i)}}
			clusters, targets = append(clusters, c), append(targets, workv1alpha2.TargetCluster{Name: c.Name})
		}
		var others []*workv1alpha2.ResourceBinding
		for i := range 10 {
			other := self.DeepCopy()
			other.Name, other.Spec.Clusters = fmt.Sprint(i), targets
			others = append(others, other)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				q := fit.NewQuery(&self.Spec, selector.ClusterMatcher{})
				q.Peers = fit.PeersOf(self, others, func(other *workv1alpha2.ResourceBinding) []workv1alpha2.TargetCluster { return other.Spec.Clusters })
				for _, filter := range fit.Filters() {
					if filter.Name != fit.WorkloadAffinity {
						continue
					}
					for _, c := range clusters {
						if reason := filter.Refuse(q, c); reason != "" {
							b.Fatal(reason)
						}
					}
				}
			}
			cpu()
		})
	}
}
