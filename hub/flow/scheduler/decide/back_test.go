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

func TestTheCopyInAClusterThatIsBackIsChosenAgain(t *testing.T) {
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
		"by what is meant for every cluster": {
			in: input(everywhere, applied, has(target("b", 2)), with(member("a", ready), member("b", ready)), lost(nil)), wantReturn: []string{"a"},
		},
		"by what prefers it, although it has no room for a second copy": {
			in:         input(byRoom, groups, applied, has(target("b", 2)), with(member("a", ready, full), member("b", ready, pods(9))), lost(nil)),
			wantReturn: []string{"a"}, wantLeaves: []string{"b"},
		},
		"not by what is divided and has all its replicas": {
			in: input(divided, applied, has(target("b", 2)), with(member("a", ready), member("b", ready)), lost(nil)),
		},
		"not while it is silent": {
			in: input(everywhere, applied, has(target("b", 2)), with(member("a"), member("b", ready)), lost(nil)),
		},
		"not while it is tainted": {
			in: input(everywhere, applied, has(target("b", 2)), with(member("a", ready, tainted), member("b", ready)), lost(nil)),
		},
		"not if the copy there is deleted already": {
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

func TestTheGroupInUseIsThatOfTheTargets(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	groups := func(in *decide.Input) {
		in.Spec.Placement.ClusterAffinities = terms([]string{"a"}, []string{"b"})
		in.ObservedAffinity = "group-1"
	}
	got := decide.Decide(input(divided, groups, applied, has(target("a", 2)), with(member("a"), member("b"))))
	g.Expect(got.Outcome).To(Equal(decide.Keep), "failover took back that it left the first group")
	g.Expect(got.Affinity).To(Equal("group-0"))
	got = decide.Decide(input(divided, groups, has(target("a", 2)), with(member("a"), member("b")), func(in *decide.Input) { in.AppliedPlacement = "{}" }))
	g.Expect(got.Targets).To(BeComparableTo(targets{target("b", 2)}), "another placement is another matter")
}

func TestAnApplicationScaledToZeroStaysWhereItIs(t *testing.T) {
	t.Parallel()
	for name, share := range map[string]func(*decide.Input){"by weights": divided, "by room": byRoom} {
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
			g.Expect(up.Targets).To(BeComparableTo(targets{target("b", 4)}), "it returns there")
		})
	}
	g := NewWithT(t)
	packed := func(in *decide.Input) {
		byRoom(in)
		in.Spec.Replicas, in.Spec.ReplicaRequirements = 4, &workv1alpha2.ReplicaRequirements{}
	}
	up := decide.Decide(input(packed, applied, has(target("b", 0)), with(member("a", pods(9)), member("b", pods(9)))))
	g.Expect(up.Targets).To(BeComparableTo(targets{target("b", 4)}), "all of it fits there")
	up = decide.Decide(input(packed, applied, has(target("b", 0)), with(member("a", pods(9)), member("b", pods(1)))))
	g.Expect(up.Targets).To(BeComparableTo(targets{target("a", 4)}), "and else it goes where there is room")
}

func TestAnotherPlaceIsOneThatDoesNotHaveAsMuchYet(t *testing.T) {
	t.Parallel()
	everywhere := func(in *decide.Input) { in.Spec.Placement.ReplicaScheduling = nil }
	three := with(member("a"), member("b"), member("c"))
	for name, tt := range map[string]struct {
		in   decide.Input
		want bool
	}{
		"none for what is everywhere":                  {input(everywhere, three, applied, has(target("a", 2), target("b", 2), target("c", 2))), false},
		"one that has it not":                          {input(everywhere, three, applied, has(target("a", 2), target("b", 2))), true},
		"one that has less":                            {input(everywhere, three, applied, has(target("a", 2), target("c", 2), target("b", 1))), true},
		"none where somebody wrote a cluster twice":    {input(everywhere, three, applied, has(target("c", 2), target("c", 1), target("b", 2))), false},
		"others, among which the share is divided":     {input(divided, three, applied, has(target("a", 2))), true},
		"only the one that is left, which is no other": {input(everywhere, with(member("a")), applied, has(target("a", 2))), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(decide.CouldPlaceWithout(tt.in, []string{"a"})).To(Equal(tt.want))
		})
	}
}
