package decide_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/test/filled"
)

func aggregated(in *decide.Input) {
	divided(in)
	in.Spec.Placement.ReplicaScheduling.ReplicaDivisionPreference = policyv1alpha1.Aggregated
}

func byRoom(in *decide.Input) {
	divided(in)
	in.Spec.Placement.ReplicaScheduling.WeightPreference = &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas}
}

func overRegions(in *decide.Input) {
	aggregated(in)
	in.Spec.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByRegion, MinGroups: 2}}
}

// room is the request of one replica or the resources of a cluster.
func room(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourcePods: resource.MustParse("110"),
	}
}

// shops returns clusters that serve the APIs of a plain Kubernetes cluster. A third of them are at another site.
func shops(n int) []*clusterv1alpha1.Cluster {
	out := make([]*clusterv1alpha1.Cluster, n)
	for i := range out {
		out[i] = member(fmt.Sprintf("edge-%04d", i), tainted, func(c *clusterv1alpha1.Cluster) {
			c.Labels["site"] = []string{"shop", "shop", "ship"}[i%3]
			c.Spec.Region = fmt.Sprintf("region-%d", i%5)
			c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: room("16", "64Gi")}
			served := make([]clusterv1alpha1.APIEnablement, 0, 31)
			for j := range 30 {
				served = append(served, clusterv1alpha1.APIEnablement{GroupVersion: fmt.Sprintf("group-%d/v1", j)})
			}
			c.Status.APIEnablements = append(served, c.Status.APIEnablements...)
		})
	}
	return out
}

// BenchmarkDecide places an application by label, among clusters that serve the APIs of a plain Kubernetes cluster.
func BenchmarkDecide(b *testing.B) {
	for _, memo := range []*decide.Memo{nil, {}} {
		for _, n := range []int{10, 100, 1000, 5000} {
			for name, change := range map[string]func(*decide.Input){
				"duplicated": func(*decide.Input) {}, "static": divided, "dynamic": byRoom, "aggregated": aggregated, "spread": overRegions,
			} {
				b.Run(fmt.Sprintf("memo=%t/%s/%d", memo != nil, name, n), func(b *testing.B) {
					in := input(with(), change, func(in *decide.Input) {
						in.Spec.Replicas = 100
						in.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{
							corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("256Mi"),
						}}
						in.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"site": "shop"}}}
						in.Spec.Placement.ClusterTolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
					})
					in.Clusters = shops(n)
					in.Memo = memo
					b.ReportAllocs()
					cpu := filled.ReportCPU(b)
					for b.Loop() {
						if d := decide.Decide(in); d.Outcome != decide.Scheduled {
							b.Fatal(d.Message)
						}
					}
					cpu()
					b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
				})
			}
		}
	}
}

// BenchmarkAPIPending places an application of a kind whose definition the hub propagates to all clusters, when one cluster in a hundred
// does not serve it yet.
func BenchmarkAPIPending(b *testing.B) {
	for _, n := range []int{1250, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in := input(with(shops(n)...), func(in *decide.Input) {
				in.Spec.Placement.ClusterTolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
				in.Memo = &decide.Memo{}
			})
			var all []workv1alpha2.TargetCluster
			for i, c := range in.Clusters {
				all = append(all, target(c.Name, 0))
				if i%100 == 0 {
					c.Status.APIEnablements = nil
				}
			}
			in.APIPending = bindings.ClustersOf(all)
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				if d := decide.Decide(in); len(d.Targets) != n {
					b.Fatal(d.Message)
				}
			}
			cpu()
		})
	}
}

// BenchmarkCouldPlaceWithout looks for another cluster for an application that is already in all clusters but one.
func BenchmarkCouldPlaceWithout(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in := input(with(), applied, func(in *decide.Input) { in.Spec.Placement.ReplicaScheduling = nil })
			for i := range n {
				c := member(fmt.Sprintf("edge-%04d", i))
				in.Clusters, in.Spec.Clusters = append(in.Clusters, c), append(in.Spec.Clusters, target(c.Name, in.Spec.Replicas))
			}
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				if decide.CouldPlaceWithout(in, []string{in.Clusters[0].Name}) {
					b.Fatal("no other cluster was found")
				}
			}
			cpu()
		})
	}
}
