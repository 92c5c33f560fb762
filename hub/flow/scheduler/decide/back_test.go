package decide_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/decide"
)

// ready makes a cluster Ready.
func ready(c *clusterv1alpha1.Cluster) {
	c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue})
}

// lost adds the eviction task that failover creates for two replicas in cluster a.
func lost(change func(*workv1alpha2.GracefulEvictionTask)) func(*decide.Input) {
	return func(in *decide.Input) {
		task := workv1alpha2.GracefulEvictionTask{FromCluster: "a", Replicas: new(int32(2)), Producer: workv1alpha2.ProducerTaintManager}
		if change != nil {
			change(&task)
		}
		in.Spec.GracefulEvictionTasks = append(in.Spec.GracefulEvictionTasks, task)
	}
}

func TestOldCopyInReturnedClusterIsChosenAgain(t *testing.T) {
	t.Parallel()
	everywhere := func(in *decide.Input) { in.Spec.Placement.ReplicaScheduling = nil }
	groups := func(in *decide.Input) {
		in.Spec.Placement.ClusterAffinities = terms([]string{"a"}, []string{"b"})
		in.ObservedAffinity, in.ReturnToPreferred, in.FailbackDue = "group-1", true, true
	}
	full := func(c *clusterv1alpha1.Cluster) { pods(0)(c) }
	tests := map[string]struct {
		in         decide.Input
		wantReturn []string
		wantLeaves []string
	}{
		"an application for every cluster returns": {
			in: input(everywhere, applied, has(target("b", 2)), with(member("a", ready), member("b", ready)), lost(nil)), wantReturn: []string{"a"},
		},
		"an application that prefers the cluster returns although a second copy does not fit": {
			in:         input(byRoom, groups, applied, has(target("b", 2)), with(member("a", ready, full), member("b", ready, pods(9))), lost(nil)),
			wantReturn: []string{"a"}, wantLeaves: []string{"b"},
		},
		"a divided application with all its replicas does not return": {
			in: input(divided, applied, has(target("b", 2)), with(member("a", ready), member("b", ready)), lost(nil)),
		},
		"not while the cluster is silent": {
			in: input(everywhere, applied, has(target("b", 2)), with(member("a"), member("b", ready)), lost(nil)),
		},
		"not while the cluster is tainted": {
			in: input(everywhere, applied, has(target("b", 2)), with(member("a", ready, tainted), member("b", ready)), lost(nil)),
		},
		"not if the old copy is deleted already": {
			in: input(everywhere, applied, has(target("b", 2)), with(member("a", ready), member("b", ready)), lost(func(task *workv1alpha2.GracefulEvictionTask) { task.PurgeMode = policyv1alpha1.PurgeDirectly })),
		},
		"not if the application failed there": {
			in: input(everywhere, applied, has(target("b", 2)), with(member("a", ready), member("b", ready)), lost(func(task *workv1alpha2.GracefulEvictionTask) {
				task.Producer = workv1alpha2.ProducerApplicationFailover
			})),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := decide.Decide(tt.in)
			g.Expect(got.Return).To(Equal(tt.wantReturn), got.Message)
			var leaves []string
			for _, l := range got.Leave {
				leaves = append(leaves, l.Cluster)
			}
			g.Expect(leaves).To(Equal(tt.wantLeaves))
		})
	}
}

func TestAffinityIsTheGroupOfTheTargets(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	groups := func(in *decide.Input) {
		in.Spec.Placement.ClusterAffinities = terms([]string{"a"}, []string{"b"})
		in.ObservedAffinity = "group-1"
	}
	got := decide.Decide(input(divided, groups, applied, has(target("a", 2)), with(member("a"), member("b"))))
	g.Expect(got.Outcome).To(Equal(decide.Keep), "the application stays in the first group after failover took back the eviction")
	g.Expect(got.Affinity).To(Equal("group-0"))
	got = decide.Decide(input(divided, groups, has(target("a", 2)), with(member("a"), member("b")), func(in *decide.Input) { in.AppliedPlacement = "{}" }))
	g.Expect(got.Targets).To(BeComparableTo(targets{target("b", 2)}), "the observed group counts if the placement changed")
}

func TestApplicationScaledToZeroKeepsTargets(t *testing.T) {
	t.Parallel()
	for name, share := range map[string]func(*decide.Input){"by weights": divided, "by capacity": byRoom} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scaled := func(replicas int32) func(*decide.Input) {
				return func(in *decide.Input) {
					in.Spec.Replicas, in.Spec.ReplicaRequirements = replicas, &workv1alpha2.ReplicaRequirements{}
					in.Spec.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByCluster, MinGroups: 1, MaxGroups: 1}}
				}
			}
			all := with(member("a", pods(9)), member("b", pods(9)), member("c", pods(9)))
			down := decide.Decide(input(share, scaled(0), applied, has(target("b", 2)), all))
			g.Expect(down.Outcome).To(Equal(decide.Scheduled))
			g.Expect(down.Targets).To(BeComparableTo(targets{target("b", 0)}))
			again := decide.Decide(input(share, scaled(0), applied, has(target("b", 0)), all))
			g.Expect(again.Targets).To(BeComparableTo(targets{target("b", 0)}))
			up := decide.Decide(input(share, scaled(4), applied, has(target("b", 0)), all))
			g.Expect(up.Targets).To(BeComparableTo(targets{target("b", 4)}), "scaling up returns the replicas to the target")
		})
	}
	g := NewWithT(t)
	packed := func(in *decide.Input) {
		byRoom(in)
		in.Spec.Replicas, in.Spec.ReplicaRequirements = 4, &workv1alpha2.ReplicaRequirements{}
	}
	up := decide.Decide(input(packed, applied, has(target("b", 0)), with(member("a", pods(9)), member("b", pods(9)))))
	g.Expect(up.Targets).To(BeComparableTo(targets{target("b", 4)}), "the target gets all replicas if they fit")
	up = decide.Decide(input(packed, applied, has(target("b", 0)), with(member("a", pods(9)), member("b", pods(1)))))
	g.Expect(up.Targets).To(BeComparableTo(targets{target("a", 4)}), "another cluster gets all replicas if they do not fit into the target")
}

func TestCouldPlaceWithout(t *testing.T) {
	t.Parallel()
	everywhere := func(in *decide.Input) { in.Spec.Placement.ReplicaScheduling = nil }
	three := with(member("a"), member("b"), member("c"))
	for name, tt := range map[string]struct {
		in   decide.Input
		want bool
	}{
		"no for an application in every cluster":       {input(everywhere, three, applied, has(target("a", 2), target("b", 2), target("c", 2))), false},
		"yes if a cluster does not have it":            {input(everywhere, three, applied, has(target("a", 2), target("b", 2))), true},
		"yes if a cluster has fewer replicas":          {input(everywhere, three, applied, has(target("a", 2), target("c", 2), target("b", 1))), true},
		"no if a cluster is listed twice":              {input(everywhere, three, applied, has(target("c", 2), target("c", 1), target("b", 2))), false},
		"yes if other clusters can share its replicas": {input(divided, three, applied, has(target("a", 2))), true},
		"no if there is no other cluster":              {input(everywhere, with(member("a")), applied, has(target("a", 2))), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(decide.CouldPlaceWithout(tt.in, []string{"a"})).To(Equal(tt.want))
		})
	}
}
