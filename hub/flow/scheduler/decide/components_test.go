package decide_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/decide"
)

// ofComponents gives the application two components, one manager and two workers, which request 1 and 2 CPUs per replica.
func ofComponents(in *decide.Input) {
	component := func(name string, replicas int32, cpu string) workv1alpha2.Component {
		return workv1alpha2.Component{Name: name, Replicas: replicas, ReplicaRequirements: &workv1alpha2.ComponentReplicaRequirements{
			ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		}}
	}
	in.Spec.Replicas = 0
	in.Spec.Components = []workv1alpha2.Component{component("manager", 1, "1"), component("worker", 2, "2")}
}

// inOneCluster adds a spread constraint for exactly one cluster.
func inOneCluster(in *decide.Input) {
	in.Spec.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByCluster, MinGroups: 1, MaxGroups: 1}}
}

// cpus makes a cluster report n free CPUs.
func cpus(n string) func(*clusterv1alpha1.Cluster) {
	return func(c *clusterv1alpha1.Cluster) {
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: room(n, "64Gi")}
	}
}

func TestDecideComponents(t *testing.T) {
	t.Parallel()
	parts := []workv1alpha2.TargetComponent{{Name: "manager", Replicas: 1}, {Name: "worker", Replicas: 2}}
	tests := map[string]struct {
		in          decide.Input
		want        decide.Outcome
		wantTargets targets
		wantMessage string
	}{
		"goes to a cluster where all components fit": {
			in:   input(ofComponents, inOneCluster, with(member("a", cpus("4")), member("b", cpus("5")))),
			want: decide.Scheduled, wantTargets: targets{{Name: "b", Components: parts}},
		},
		"goes to the cluster where the most sets fit": {
			in:   input(ofComponents, inOneCluster, with(member("a", cpus("5")), member("b", cpus("11")))),
			want: decide.Scheduled, wantTargets: targets{{Name: "b", Components: parts}},
		},
		"waits if no cluster holds all of it": {
			in:   input(ofComponents, inOneCluster, with(member("a", cpus("4")), member("b", cpus("4")))),
			want: decide.Unschedulable, wantMessage: "failed to select clusters: no enough resource when selecting 1 clusters: they have room for 0 of 1 replicas.",
		},
		"stays in its cluster although that is full": {
			in: input(ofComponents, inOneCluster, applied, has(workv1alpha2.TargetCluster{Name: "a", Components: parts}),
				with(member("a", cpus("0")), member("b", cpus("50")))),
			want: decide.Scheduled, wantTargets: targets{{Name: "a", Components: parts}},
		},
		"moves when it is evicted": {
			in: input(ofComponents, inOneCluster, applied, func(in *decide.Input) {
				in.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "a"}}
			}, with(member("a", cpus("50")), member("b", cpus("50")))),
			want: decide.Scheduled, wantTargets: targets{{Name: "b", Components: parts}},
		},
		"a single component goes to a cluster where it fits": {
			in: input(ofComponents, func(in *decide.Input) { in.Spec.Components = in.Spec.Components[1:] }, inOneCluster,
				with(member("a", cpus("3")), member("b", cpus("4")))),
			want: decide.Scheduled, wantTargets: targets{{Name: "b", Components: parts[1:]}},
		},
		"goes to every cluster without a constraint for one": {
			in:   input(ofComponents, divided),
			want: decide.Scheduled, wantTargets: targets{{Name: "a"}, {Name: "b"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := decide.Decide(tt.in)
			g.Expect(got.Outcome).To(Equal(tt.want))
			g.Expect(got.Targets).To(BeComparableTo(tt.wantTargets))
			g.Expect(got.Message).To(Equal(tt.wantMessage))
		})
	}
}
