package decide_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/fit"
	"fairlead.dev/test/builder"
)

type targets = []workv1alpha2.TargetCluster

// member returns a cluster that serves Deployments, labelled with its name.
func member(name string, changes ...func(*clusterv1alpha1.Cluster)) *clusterv1alpha1.Cluster {
	c := builder.MakeCluster(name).Label("name", name).Obj()
	c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{
		{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

func tainted(c *clusterv1alpha1.Cluster) {
	c.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
}

func leaving(c *clusterv1alpha1.Cluster) {
	c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
}

// upgraded makes a cluster serve Deployments only in another version.
func upgraded(c *clusterv1alpha1.Cluster) {
	c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{
		{GroupVersion: "apps/v2", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}},
	}
	c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.ClusterCompleteAPIEnablements, Status: metav1.ConditionTrue})
}

// input returns the input for a Deployment of 2 replicas that goes to every cluster, changed by the given functions.
func input(changes ...func(*decide.Input)) decide.Input {
	in := decide.Input{
		Spec: &workv1alpha2.ResourceBindingSpec{
			Resource:  workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			Replicas:  2,
			Placement: &policyv1alpha1.Placement{},
		},
		Clusters: []*clusterv1alpha1.Cluster{member("a"), member("b")},
	}
	for _, change := range changes {
		change(&in)
	}
	return in
}

func names(list ...string) *policyv1alpha1.ClusterAffinity {
	return &policyv1alpha1.ClusterAffinity{ClusterNames: list}
}

func terms(lists ...[]string) []policyv1alpha1.ClusterAffinityTerm {
	out := make([]policyv1alpha1.ClusterAffinityTerm, len(lists))
	for i, list := range lists {
		out[i] = policyv1alpha1.ClusterAffinityTerm{AffinityName: fmt.Sprintf("group-%d", i), ClusterAffinity: *names(list...)}
	}
	return out
}

func divided(in *decide.Input) {
	in.Spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided}
}

// applied records the current placement as the one of the last decision.
func applied(in *decide.Input) {
	raw, err := json.Marshal(in.Spec.Placement)
	if err != nil {
		panic(err)
	}
	in.AppliedPlacement = string(raw)
	in.LastScheduled = &metav1.Time{Time: time.Unix(100, 0)}
}

func has(list ...workv1alpha2.TargetCluster) func(*decide.Input) {
	return func(in *decide.Input) { in.Spec.Clusters = list }
}

func with(clusters ...*clusterv1alpha1.Cluster) func(*decide.Input) {
	return func(in *decide.Input) { in.Clusters = clusters }
}

func TestDecide(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in           decide.Input
		want         decide.Outcome
		wantTrigger  decide.Trigger
		wantTargets  targets
		wantAffinity string
		wantMessage  string
	}{
		"a new binding goes to every cluster that fits, by name": {
			in:   input(with(member("b"), member("c", tainted), member("a"))),
			want: decide.Scheduled, wantTrigger: decide.TriggerPlacement,
			wantTargets: targets{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 2}},
		},
		"a target is kept in spite of a taint, and a new cluster with that taint is not added": {
			in:   input(applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2}), with(member("a", tainted), member("b", tainted))),
			want: decide.Scheduled, wantTrigger: decide.TriggerFollows,
			wantTargets: targets{{Name: "a", Replicas: 2}},
		},
		"a target that is being removed stays until it is evicted": {
			in:   input(applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2}), with(member("a", leaving), member("b"))),
			want: decide.Scheduled, wantTrigger: decide.TriggerFollows,
			wantTargets: targets{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 2}},
		},
		"a target whose operator was upgraded past the version of the application keeps it": {
			in: input(applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2}, workv1alpha2.TargetCluster{Name: "b", Replicas: 2}),
				with(member("a", upgraded), member("b"), member("c", upgraded))),
			want: decide.Scheduled, wantTrigger: decide.TriggerFollows,
			wantTargets: targets{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 2}},
		},
		"all targets keep it if all their operators were upgraded": {
			in: input(applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2}, workv1alpha2.TargetCluster{Name: "b", Replicas: 2}),
				with(member("a", upgraded), member("b", upgraded))),
			want: decide.Scheduled, wantTrigger: decide.TriggerFollows,
			wantTargets: targets{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 2}},
		},
		"a cluster that joined gets a duplicated application": {
			in:   input(applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2})),
			want: decide.Scheduled, wantTrigger: decide.TriggerFollows,
			wantTargets: targets{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 2}},
		},
		"a divided application stays when a cluster joins": {
			in:   input(divided, applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2})),
			want: decide.Keep, wantTargets: targets{{Name: "a", Replicas: 2}},
		},
		"a divided application stays when its cluster is tainted": {
			in:   input(divided, applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2}), with(member("a", tainted), member("b"))),
			want: decide.Keep, wantTargets: targets{{Name: "a", Replicas: 2}},
		},
		"a divided application is divided again when it is scaled": {
			in:   input(divided, applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 1})),
			want: decide.Scheduled, wantTrigger: decide.TriggerReplicas,
			wantTargets: targets{{Name: "a", Replicas: 1}, {Name: "b", Replicas: 1}},
		},
		"a divided application stays when its cluster is being removed: it is evicted": {
			in:   input(divided, applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2}), with(member("a", leaving), member("b"))),
			want: decide.Keep, wantTargets: targets{{Name: "a", Replicas: 2}},
		},
		"it goes where it did not fail": {
			in:   input(divided, applied, func(in *decide.Input) { in.FailedIn = []string{"a"} }),
			want: decide.Scheduled, wantTrigger: decide.TriggerReplicas, wantTargets: targets{{Name: "b", Replicas: 2}},
		},
		"it goes where it failed rather than nowhere": {
			in:   input(divided, applied, with(member("a"), member("b", tainted)), func(in *decide.Input) { in.FailedIn = []string{"a"} }),
			want: decide.Scheduled, wantTrigger: decide.TriggerReplicas, wantTargets: targets{{Name: "a", Replicas: 2}},
		},
		"a divided application is divided again when its cluster is gone": {
			in:   input(divided, applied, has(workv1alpha2.TargetCluster{Name: "z", Replicas: 2})),
			want: decide.Scheduled, wantTrigger: decide.TriggerTargetGone,
			wantTargets: targets{{Name: "a", Replicas: 1}, {Name: "b", Replicas: 1}},
		},
		"a divided application is divided again when the placement changed": {
			in: input(divided, applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2}), func(in *decide.Input) {
				in.Spec.Placement.ClusterAffinity = names("b")
			}),
			want: decide.Scheduled, wantTrigger: decide.TriggerPlacement,
			wantTargets: targets{{Name: "b", Replicas: 2}},
		},
		"a divided application is divided again when that is requested": {
			in: input(divided, applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2}), func(in *decide.Input) {
				in.Spec.RescheduleTriggeredAt = &metav1.Time{Time: time.Unix(101, 0)}
			}),
			want: decide.Scheduled, wantTrigger: decide.TriggerRequested,
			wantTargets: targets{{Name: "a", Replicas: 1}, {Name: "b", Replicas: 1}},
		},
		"a request from before the last decision is done": {
			in: input(divided, applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2}), func(in *decide.Input) {
				in.Spec.RescheduleTriggeredAt = &metav1.Time{Time: time.Unix(100, 0)}
			}),
			want: decide.Keep, wantTargets: targets{{Name: "a", Replicas: 2}},
		},
		"the same placement in another encoding is no change": {
			in: input(divided, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2}), func(in *decide.Input) {
				in.AppliedPlacement = `{ "replicaScheduling": {"replicaSchedulingType": "Divided"}, "spreadConstraints": [] }`
			}),
			want: decide.Keep, wantTargets: targets{{Name: "a", Replicas: 2}},
		},
		"a recorded placement that cannot be decoded counts as none": {
			in: input(divided, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2}), func(in *decide.Input) {
				in.AppliedPlacement = `{`
			}),
			want: decide.Scheduled, wantTrigger: decide.TriggerPlacement,
			wantTargets: targets{{Name: "a", Replicas: 1}, {Name: "b", Replicas: 1}},
		},
		"a divided application scaled to zero goes to every cluster": {
			in:   input(divided, applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2}), func(in *decide.Input) { in.Spec.Replicas = 0 }),
			want: decide.Scheduled, wantTrigger: decide.TriggerFollows,
			wantTargets: targets{{Name: "a"}, {Name: "b"}},
		},
		"the other clusters get an evicted share": {
			in: input(divided, applied, has(workv1alpha2.TargetCluster{Name: "b", Replicas: 1}), func(in *decide.Input) {
				in.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "a"}}
			}),
			want: decide.Scheduled, wantTrigger: decide.TriggerReplicas,
			wantTargets: targets{{Name: "b", Replicas: 2}},
		},
		"no cluster fits": {
			in:   input(applied, with(member("a", leaving), member("b", tainted), member("c", tainted))),
			want: decide.NoClusterFit, wantTrigger: decide.TriggerFollows,
			wantMessage: "0/3 clusters are available: 1 cluster(s) is being removed, 2 cluster(s) had untolerated taint {k:NoSchedule}.",
		},
		"there is no cluster": {
			in:   input(with()),
			want: decide.NoClusterFit, wantTrigger: decide.TriggerPlacement,
			wantMessage: "0/0 clusters are available: no cluster exists.",
		},
		"the first group that has a cluster is used": {
			in: input(func(in *decide.Input) {
				in.Spec.Placement.ClusterAffinities = terms([]string{"z"}, []string{"b"}, []string{"a"})
			}),
			want: decide.Scheduled, wantTrigger: decide.TriggerPlacement,
			wantTargets: targets{{Name: "b", Replicas: 2}}, wantAffinity: "group-1",
		},
		"when a group is lost the next one is used": {
			in: input(func(in *decide.Input) {
				in.Spec.Placement.ClusterAffinities = terms([]string{"a"}, []string{"z"}, []string{"b"})
			}, applied, has(workv1alpha2.TargetCluster{Name: "z", Replicas: 2}), func(in *decide.Input) { in.ObservedAffinity = "group-1" }),
			want: decide.Scheduled, wantTrigger: decide.TriggerFollows,
			wantTargets: targets{{Name: "b", Replicas: 2}}, wantAffinity: "group-2",
		},
		"the application does not return to a preferred group that recovered": {
			in: input(func(in *decide.Input) { in.Spec.Placement.ClusterAffinities = terms([]string{"a"}, []string{"b"}) },
				applied, has(workv1alpha2.TargetCluster{Name: "b", Replicas: 2}), func(in *decide.Input) { in.ObservedAffinity = "group-1" }),
			want: decide.Scheduled, wantTrigger: decide.TriggerFollows,
			wantTargets: targets{{Name: "b", Replicas: 2}}, wantAffinity: "group-1",
		},
		"an application that fits nowhere else returns to a group that recovered": {
			in: input(func(in *decide.Input) {
				in.Spec.Placement.ClusterAffinities = terms([]string{"a"}, []string{"z"})
			}, applied, has(workv1alpha2.TargetCluster{Name: "z", Replicas: 2}), func(in *decide.Input) { in.ObservedAffinity = "group-1" }),
			want: decide.Scheduled, wantTrigger: decide.TriggerPreferred,
			wantTargets: targets{{Name: "a", Replicas: 2}}, wantAffinity: "group-0",
		},
		"an application that stays is in the group of its targets, whatever was recorded": {
			in: input(divided, func(in *decide.Input) {
				in.Spec.Placement.ClusterAffinities = terms([]string{"a"}, []string{"b"})
			}, applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2})),
			want: decide.Keep, wantTargets: targets{{Name: "a", Replicas: 2}}, wantAffinity: "group-0",
		},
		"a decision from scratch starts with the first group": {
			in: input(func(in *decide.Input) { in.Spec.Placement.ClusterAffinities = terms([]string{"a"}, []string{"b"}) },
				applied, has(workv1alpha2.TargetCluster{Name: "b", Replicas: 2}), func(in *decide.Input) {
					in.ObservedAffinity = "group-1"
					in.Spec.RescheduleTriggeredAt = &metav1.Time{Time: time.Unix(101, 0)}
				}),
			want: decide.Scheduled, wantTrigger: decide.TriggerRequested,
			wantTargets: targets{{Name: "a", Replicas: 2}}, wantAffinity: "group-0",
		},
		"when no group fits, the message is about the preferred one": {
			in: input(func(in *decide.Input) { in.Spec.Placement.ClusterAffinities = terms([]string{"a"}, []string{"z"}) },
				with(member("a", tainted), member("b"))),
			want: decide.NoClusterFit, wantTrigger: decide.TriggerPlacement,
			wantMessage: "0/2 clusters are available: 1 cluster(s) did not match the placement cluster affinity constraint, 1 cluster(s) had untolerated taint {k:NoSchedule}.",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := decide.Decide(tt.in)
			g.Expect(got.Outcome).To(Equal(tt.want))
			g.Expect(got.Trigger).To(Equal(tt.wantTrigger))
			g.Expect(got.Targets).To(BeComparableTo(tt.wantTargets))
			g.Expect(got.Affinity).To(Equal(tt.wantAffinity))
			g.Expect(got.Message).To(Equal(tt.wantMessage))
		})
	}
}

func TestInvalidPlacementIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*workv1alpha2.ResourceBindingSpec)
		want   string
	}{
		"no placement": {func(s *workv1alpha2.ResourceBindingSpec) { s.Placement = nil }, "no placement"},
		"a constraint by field and by label": {func(s *workv1alpha2.ResourceBindingSpec) {
			s.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByRegion, SpreadByLabel: "rack"}}
		}, "placement.spreadConstraints[0]"},
		"two constraints by cluster, one of them by default": {func(s *workv1alpha2.ResourceBindingSpec) {
			s.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByCluster}, {MinGroups: 1}}
		}, "placement.spreadConstraints[0] and [1]"},
		"bounds that exclude each other": {func(s *workv1alpha2.ResourceBindingSpec) {
			s.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByRegion, MinGroups: 3, MaxGroups: 2}}
		}, "placement.spreadConstraints[0]"},
		"more constraints than the limit": {func(s *workv1alpha2.ResourceBindingSpec) {
			for i := range 5000 {
				s.Placement.SpreadConstraints = append(s.Placement.SpreadConstraints, policyv1alpha1.SpreadConstraint{SpreadByLabel: fmt.Sprintf("l%d", i)})
			}
		}, "placement.spreadConstraints has 5000 constraints, and may have 16"},
		"overflow without division by capacity": {func(s *workv1alpha2.ResourceBindingSpec) {
			s.Placement.ClusterAffinities = terms(nil, nil)
			s.Placement.ClusterAffinities[1].OverflowAffinities = make([]policyv1alpha1.OverflowAffinityTerm, 1)
		}, "clusterAffinities[1].overflowAffinities"},
		"clusterAffinity and clusterAffinities": {func(s *workv1alpha2.ResourceBindingSpec) {
			s.Placement.ClusterAffinity, s.Placement.ClusterAffinities = names(), terms(nil)
		}, "exclude each other"},
		"an invalid label selector": {func(s *workv1alpha2.ResourceBindingSpec) {
			s.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"no key": ""}}}
		}, "clusterAffinity"},
		"an invalid cluster selector of a weight": {func(s *workv1alpha2.ResourceBindingSpec) {
			s.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{WeightPreference: &policyv1alpha1.ClusterPreferences{
				StaticWeightList: []policyv1alpha1.StaticClusterWeight{{Weight: 1, TargetCluster: policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"no key": ""}}}}},
			}}
		}, "staticWeightList[0]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := input(has(workv1alpha2.TargetCluster{Name: "a", Replicas: 7}))
			tt.change(in.Spec)
			got := decide.Decide(in)
			g.Expect(got.Outcome).To(Equal(decide.Refused))
			g.Expect(got.Message).To(ContainSubstring(tt.want))
			g.Expect(got.Message).To(HaveSuffix("."))
			g.Expect(got.Targets).To(Equal(in.Spec.Clusters), "the targets do not change")
		})
	}
}

func TestObjectsWithoutReplicasNeedNoStrategy(t *testing.T) {
	t.Parallel()
	in := input(func(in *decide.Input) {
		in.Spec.Replicas = 0
		in.Spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaDivisionPreference: policyv1alpha1.Aggregated}
	})
	NewWithT(t).Expect(decide.Decide(in).Targets).To(BeComparableTo(targets{{Name: "a"}, {Name: "b"}}))
}

func TestEveryClusterHasAVerdict(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := input(with(member("c", tainted), member("a"), member("b")), func(in *decide.Input) {
		divided(in)
		in.Spec.Replicas = 1
	})
	got := decide.Decide(in)
	g.Expect(got.Attempts).To(HaveLen(1))
	g.Expect(got.Attempts[0].Verdicts).To(BeComparableTo([]decide.Verdict{
		{Cluster: "a", Target: true, Replicas: 1},
		{Cluster: "b", Limit: "others weigh more"},
		{Cluster: "c", Filter: fit.TaintToleration, Reason: "cluster(s) had untolerated taint {k:NoSchedule}"},
	}))
}

// TestDecisionsAreStable checks that a decision does not depend on the order of the clusters, and that repeating it on its own result
// changes nothing.
func TestDecisionsAreStable(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		in := randomInput(random)
		first := decide.Decide(in)
		random.Shuffle(len(in.Clusters), func(i, j int) { in.Clusters[i], in.Clusters[j] = in.Clusters[j], in.Clusters[i] })
		g.Expect(decide.Decide(in)).To(BeComparableTo(first))
		if first.Outcome != decide.Scheduled {
			continue
		}
		in.Spec.Clusters, in.AppliedPlacement, in.ObservedAffinity = first.Targets, first.Placement, first.Affinity
		g.Expect(decide.Decide(in).Targets).To(BeComparableTo(first.Targets))
	}
}

func randomInput(random *rand.Rand) decide.Input {
	in := input(with(), func(in *decide.Input) { in.Spec.Replicas = random.Int32N(5) })
	for i := range random.IntN(6) {
		c := member(fmt.Sprintf("m-%d", i))
		if random.IntN(4) == 0 {
			tainted(c)
		}
		if random.IntN(6) == 0 {
			leaving(c)
		}
		in.Clusters = append(in.Clusters, c)
	}
	if random.IntN(2) == 0 {
		divided(&in)
	}
	if random.IntN(3) == 0 {
		in.Spec.Placement.ClusterAffinities = terms([]string{"m-0"}, []string{"m-1", "m-2"}, nil)
	}
	return in
}
