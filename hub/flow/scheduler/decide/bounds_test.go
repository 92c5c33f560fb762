package decide_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/hub/flow/scheduler/decide"
)

// within sets the replicas and the replicaBounds of a placement with static weights.
func within(replicas int32, bounds ...policyv1alpha1.ClusterReplicaBounds) func(*decide.Input) {
	return func(in *decide.Input) {
		divided(in)
		in.Spec.Replicas, in.Spec.Placement.ReplicaScheduling.ReplicaBounds = replicas, bounds
	}
}

func most(n int32, clusters ...string) policyv1alpha1.ClusterReplicaBounds {
	return policyv1alpha1.ClusterReplicaBounds{TargetCluster: *names(clusters...), MaxReplicas: &n}
}

func least(n int32, clusters ...string) policyv1alpha1.ClusterReplicaBounds {
	return policyv1alpha1.ClusterReplicaBounds{TargetCluster: *names(clusters...), MinReplicas: n}
}

func weighing(cluster string, weight int64) func(*decide.Input) {
	return func(in *decide.Input) {
		r := in.Spec.Placement.ReplicaScheduling
		if r.WeightPreference == nil {
			r.WeightPreference = &policyv1alpha1.ClusterPreferences{}
		}
		r.WeightPreference.StaticWeightList = append(r.WeightPreference.StaticWeightList,
			policyv1alpha1.StaticClusterWeight{TargetCluster: *names(cluster), Weight: weight})
	}
}

func TestReplicasAreDividedWithinBounds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in          decide.Input
		want        decide.Outcome
		wantTargets targets
		wantLimits  map[string]string
		wantMessage string
	}{
		"replicas above a maximum go to the other clusters": {
			in: input(within(10, most(2, "a"))), want: decide.Scheduled,
			wantTargets: targets{target("a", 2), target("b", 8)}, wantLimits: map[string]string{"a": "maxReplicas 2"},
		},
		"a minimum comes before the weights": {
			in: input(within(10, least(4, "a")), weighing("a", 1), weighing("b", 9)), want: decide.Scheduled,
			wantTargets: targets{target("a", 4), target("b", 6)}, wantLimits: map[string]string{"a": "minReplicas 4"},
		},
		"an entry without clusters applies to all, and the tighter of two bounds counts": {
			in: input(within(10, most(8), most(3, "a"))), want: decide.Scheduled,
			wantTargets: targets{target("a", 3), target("b", 7)}, wantLimits: map[string]string{"a": "maxReplicas 3"},
		},
		"a cluster with a maximum of zero is not a target": {
			in: input(within(4, most(0, "a"))), want: decide.Scheduled,
			wantTargets: targets{target("b", 4)}, wantLimits: map[string]string{"a": "maxReplicas 0"},
		},
		"the message counts replicas that no maximum allows": {
			in: input(within(10, most(3))), want: decide.Scheduled,
			wantTargets: targets{target("a", 3), target("b", 3)}, wantLimits: map[string]string{"a": "maxReplicas 3", "b": "maxReplicas 3"},
			wantMessage: "4 of 10 replicas are placed nowhere: every cluster that fits has its maxReplicas. Raise a maximum of replicaBounds in the policy, or add a cluster.",
		},
		"a cluster that joins gets the replicas left over, and nothing moves": {
			in: input(within(10, most(3)), applied, has(target("a", 3), target("b", 3)), with(member("a"), member("b"), member("c"))), want: decide.Scheduled,
			wantTargets: targets{target("a", 3), target("b", 3), target("c", 3)},
			wantMessage: "1 of 10 replicas are placed nowhere: every cluster that fits has its maxReplicas. Raise a maximum of replicaBounds in the policy, or add a cluster.",
		},
		"if every maximum is zero, running replicas stay": {
			in: input(within(10, most(0)), has(target("a", 10))), want: decide.Unschedulable, wantTargets: targets{target("a", 10)},
			wantMessage: "failed to assign replicas: replicaBounds allow no cluster any replicas.",
		},
		"bounds need static weights": {
			in: input(within(10, most(3)), func(in *decide.Input) {
				in.Spec.Placement.ReplicaScheduling.ReplicaDivisionPreference = policyv1alpha1.Aggregated
			}), want: decide.Refused,
			wantMessage: "placement.replicaScheduling.replicaBounds need replicas that are divided by static weights: use Divided and Weighted without dynamicWeight in the policy, or remove the bounds.",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := decide.Decide(tt.in)
			g.Expect(d.Outcome).To(Equal(tt.want), d.Message)
			g.Expect(d.Targets).To(BeComparableTo(tt.wantTargets))
			g.Expect(d.Message).To(Equal(tt.wantMessage))
			for cluster, limit := range tt.wantLimits {
				g.Expect(verdictOn(g, d, cluster).Limit).To(Equal(limit))
			}
		})
	}
}

func verdictOn(g Gomega, d decide.Decision, cluster string) decide.Verdict {
	g.Expect(d.Attempts).NotTo(BeEmpty())
	for _, v := range d.Attempts[len(d.Attempts)-1].Verdicts {
		if v.Cluster == cluster {
			return v
		}
	}
	g.Expect(cluster).To(BeEmpty(), "a cluster has no verdict")
	return decide.Verdict{}
}

func TestInvalidBoundsAreNamed(t *testing.T) {
	t.Parallel()
	bad := most(1)
	bad.TargetCluster.FieldSelector = &policyv1alpha1.FieldSelector{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "planet", Operator: corev1.NodeSelectorOpIn, Values: []string{"x"}}},
	}
	g := NewWithT(t)
	d := decide.Decide(input(within(10, most(1), bad), has(target("a", 10))))
	g.Expect(d.Outcome).To(Equal(decide.Refused))
	g.Expect(d.Message).To(ContainSubstring("replicaScheduling: reading replicaBounds[1].targetCluster"))
	g.Expect(d.Targets).To(Equal(targets{target("a", 10)}))
}
