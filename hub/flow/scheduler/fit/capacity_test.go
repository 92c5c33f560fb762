package fit_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/fit"
	"fairlead.dev/test/builder"
)

// list parses pairs of resource names and quantities.
func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func requires(pairs ...string) *workv1alpha2.ReplicaRequirements {
	return &workv1alpha2.ReplicaRequirements{ResourceRequest: list(pairs...)}
}

// reporting returns a cluster that reports 10 CPUs, 20Gi and 100 pods in total. Of these, 2 CPUs, 4Gi and 10 pods are allocated, and pods
// that wait for a node request 1 CPU; there are 5 of them.
func reporting(changes ...func(*clusterv1alpha1.Cluster)) *clusterv1alpha1.Cluster {
	c := builder.MakeCluster("m").Obj()
	c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{
		Allocatable: list("cpu", "10", "memory", "20Gi", "pods", "100", "example.com/gpu", "2"),
		Allocated:   list("cpu", "2", "memory", "4Gi", "pods", "10"),
		Allocating:  list("cpu", "1", "pods", "5"),
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

// grading makes a cluster report a number of nodes for each of three grades: at least 0, 1 and 4 CPUs free.
func grading(counts ...int) func(*clusterv1alpha1.Cluster) {
	return func(c *clusterv1alpha1.Cluster) {
		for i, least := range []string{"0", "1", "4"} {
			c.Spec.ResourceModels = append([]clusterv1alpha1.ResourceModel{{
				Grade:  uint(i),
				Ranges: []clusterv1alpha1.ResourceModelRange{{Name: corev1.ResourceCPU, Min: resource.MustParse(least)}},
			}}, c.Spec.ResourceModels...)
			if i < len(counts) {
				c.Status.ResourceSummary.AllocatableModelings = append(c.Status.ResourceSummary.AllocatableModelings,
					clusterv1alpha1.AllocatableModeling{Grade: uint(i), Count: counts[i]})
			}
		}
	}
}

// limited sets spec.capacityLimit, the most capacity that the hub believes a cluster to have.
func limited(pairs ...string) func(*clusterv1alpha1.Cluster) {
	return func(c *clusterv1alpha1.Cluster) { c.Spec.CapacityLimit = list(pairs...) }
}

func TestReplicas(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cluster *clusterv1alpha1.Cluster
		assumed fit.Assumed
		req     *workv1alpha2.ReplicaRequirements
		want    fit.Capacity
	}{
		"nothing fits where nothing was reported": {
			cluster: builder.MakeCluster("m").Obj(), want: fit.Capacity{Limit: "no summary"},
		},
		"an application without requests is bounded by pods": {
			cluster: reporting(), want: fit.Capacity{Replicas: 85, Limit: "pods"},
		},
		"a request of zero bounds nothing": {
			cluster: reporting(), req: requires("cpu", "0"), want: fit.Capacity{Replicas: 85, Limit: "pods"},
		},
		"pods that wait for a node count as allocated": {
			cluster: reporting(), req: requires("cpu", "500m"), want: fit.Capacity{Replicas: 14, Limit: "cpu"},
		},
		"the scarcest resource is the limit": {
			cluster: reporting(), req: requires("cpu", "100m", "memory", "3Gi"), want: fit.Capacity{Replicas: 5, Limit: "memory"},
		},
		"memory in decimal notation is compared by its bytes": {
			cluster: reporting(), req: requires("memory", "4G"), want: fit.Capacity{Replicas: 4, Limit: "memory"},
		},
		"a resource that the cluster does not have": {
			cluster: reporting(), req: requires("example.com/fpga", "1"), want: fit.Capacity{Limit: "example.com/fpga"},
		},
		"an extended resource": {
			cluster: reporting(), req: requires("example.com/gpu", "1"), want: fit.Capacity{Replicas: 2, Limit: "example.com/gpu"},
		},
		"of equal limits the first by name is reported": {
			cluster: reporting(), req: requires("cpu", "7", "memory", "16Gi"), want: fit.Capacity{Replicas: 1, Limit: "cpu"},
		},
		"resources assigned since the report are subtracted": {
			cluster: reporting(), assumed: fit.Assumed{Amount: fit.Amount{Resources: list("cpu", "4"), Pods: 8}}, req: requires("cpu", "1"),
			want: fit.Capacity{Replicas: 3, Limit: "cpu"},
		},
		"pods assigned since the report are subtracted": {
			cluster: reporting(), assumed: fit.Assumed{Amount: fit.Amount{Pods: 80}}, want: fit.Capacity{Replicas: 5, Limit: "pods"},
		},
		"an overcommitted cluster takes nothing": {
			cluster: reporting(), assumed: fit.Assumed{Amount: fit.Amount{Resources: list("cpu", "9")}}, req: requires("cpu", "1m"),
			want: fit.Capacity{Limit: "cpu"},
		},
		"a cluster with a reservation that overflows an integer takes nothing": {
			cluster: reporting(), assumed: fit.Assumed{Amount: fit.Amount{Resources: list("cpu", "9300000000000000.0001")}}, req: requires("cpu", "1"),
			want: fit.Capacity{Limit: "cpu"},
		},
		"a cluster with reservations whose sum overflows takes nothing": {
			cluster: reporting(func(c *clusterv1alpha1.Cluster) {
				c.Status.ResourceSummary.Allocating = list("memory", "9223372036854775807")
			}), assumed: fit.Assumed{Amount: fit.Amount{Resources: list("memory", "9223372036854775807")}}, req: requires("memory", "1"),
			want: fit.Capacity{Limit: "memory"},
		},
		"a request that overflows an integer fits nowhere": {
			cluster: reporting(), req: requires("cpu", "9300000000000000.0001"), want: fit.Capacity{Limit: "cpu"},
		},
		"a cluster without free pods takes nothing": {
			cluster: reporting(), assumed: fit.Assumed{Amount: fit.Amount{Pods: 90}}, req: requires("cpu", "1m"), want: fit.Capacity{Limit: "pods"},
		},
		"nodes that are too small do not count": {
			cluster: reporting(grading(50, 2, 1)), req: requires("cpu", "2"), want: fit.Capacity{Replicas: 2, Limit: "models"},
		},
		"capacity is counted node by node": {
			cluster: reporting(grading(5, 2, 1)), req: requires("cpu", "1"), want: fit.Capacity{Replicas: 6, Limit: "models"},
		},
		"replicas assigned since the report take capacity of nodes": {
			cluster: reporting(grading(5, 2, 1)), assumed: fit.Assumed{Amount: fit.Amount{Resources: list("cpu", "1500m")}}, req: requires("cpu", "1"),
			want: fit.Capacity{Replicas: 4, Limit: "models"},
		},
		"a resource without grades is bounded by the total": {
			cluster: reporting(grading(5, 2, 1)), req: requires("memory", "4Gi"), want: fit.Capacity{Replicas: 4, Limit: "memory"},
		},
		"a report above the capacity limit is cut to it": {
			cluster: reporting(limited("cpu", "5", "memory", "1Ti")), req: requires("cpu", "1"), want: fit.Capacity{Replicas: 2, Limit: "cpu"},
		},
		"a negative usage does not raise the capacity above the limit": {
			cluster: reporting(limited("cpu", "5", "pods", "50"), func(c *clusterv1alpha1.Cluster) {
				c.Status.ResourceSummary.Allocated = list("cpu", "-1000", "pods", "-1000")
				c.Status.ResourceSummary.Allocating = list("cpu", "-1000", "pods", "-1000")
			}), req: requires("cpu", "1"), want: fit.Capacity{Replicas: 5, Limit: "cpu"},
		},
		"a negative count of nodes is ignored": {
			cluster: reporting(grading(5, -2, 1)), req: requires("cpu", "1"), want: fit.Capacity{Replicas: 7, Limit: "cpu"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(fit.Replicas(tt.cluster, tt.assumed, "", tt.req)).To(Equal(tt.want))
		})
	}
}

func component(name string, replicas int32, pairs ...string) workv1alpha2.Component {
	return workv1alpha2.Component{
		Name: name, Replicas: replicas,
		ReplicaRequirements: &workv1alpha2.ComponentReplicaRequirements{ResourceRequest: list(pairs...)},
	}
}

func TestSets(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cluster    *clusterv1alpha1.Cluster
		assumed    fit.Assumed
		components []workv1alpha2.Component
		want       fit.Capacity
	}{
		"nothing fits where nothing was reported": {
			cluster: builder.MakeCluster("m").Obj(), want: fit.Capacity{Limit: "no summary"},
		},
		"components without replicas are bounded by pods": {
			cluster: reporting(), components: []workv1alpha2.Component{{Name: "a"}}, want: fit.Capacity{Replicas: 85, Limit: "pods"},
		},
		"a set takes the pods of all components": {
			cluster:    reporting(),
			components: []workv1alpha2.Component{{Name: "a", Replicas: 3}, {Name: "b", Replicas: 7}},
			want:       fit.Capacity{Replicas: 8, Limit: "pods"},
		},
		"a set takes what all components request": {
			cluster:    reporting(),
			components: []workv1alpha2.Component{component("a", 1, "cpu", "1"), component("b", 2, "cpu", "500m", "memory", "5G")},
			want:       fit.Capacity{Replicas: 1, Limit: "memory"},
		},
		"every replica of a set needs a node": {
			cluster:    reporting(grading(5, 3, 1)),
			components: []workv1alpha2.Component{component("a", 1, "cpu", "2"), component("b", 2, "cpu", "1")},
			want:       fit.Capacity{Replicas: 1, Limit: "cpu"},
		},
		"a set fits as a whole or not at all": {
			cluster:    reporting(grading(5, 1, 1)),
			components: []workv1alpha2.Component{component("a", 1, "cpu", "3"), component("b", 3, "cpu", "1")},
			want:       fit.Capacity{Limit: "models"},
		},
		"resources assigned since the report are subtracted from the nodes": {
			cluster: reporting(grading(0, 0, 1)), assumed: fit.Assumed{Amount: fit.Amount{Resources: list("cpu", "2")}},
			components: []workv1alpha2.Component{component("a", 1, "cpu", "1")},
			want:       fit.Capacity{Replicas: 2, Limit: "models"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(fit.Sets(tt.cluster, tt.assumed, "", tt.components)).To(Equal(tt.want))
		})
	}
}

func TestHugeReportDoesNotOverflow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := reporting(grading(0, 0, 1<<62))
	c.Status.ResourceSummary.Allocatable = list("cpu", "1P", "pods", "1P")
	g.Expect(fit.Replicas(c, fit.Assumed{}, "", requires("cpu", "1m")).Replicas).To(BeNumerically(">", 0))
	g.Expect(fit.Sets(c, fit.Assumed{}, "", []workv1alpha2.Component{component("a", 1, "cpu", "1m")}).Replicas).
		To(BeNumerically(">", 0))
}

func BenchmarkReplicas(b *testing.B) {
	for name, c := range map[string]*clusterv1alpha1.Cluster{"summary": reporting(), "models": reporting(grading(10, 10, 10))} {
		b.Run(fmt.Sprintf("by %s", name), func(b *testing.B) {
			req := requires("cpu", "100m", "memory", "128Mi")
			b.ReportAllocs()
			for b.Loop() {
				fit.Replicas(c, fit.Assumed{}, "", req)
			}
		})
	}
}
