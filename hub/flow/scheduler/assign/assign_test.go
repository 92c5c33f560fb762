package assign_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/division"
	"fairlead.dev/hub/flow/scheduler/assign"
	"fairlead.dev/test/builder"
)

func members(names ...string) []*clusterv1alpha1.Cluster {
	out := make([]*clusterv1alpha1.Cluster, len(names))
	for i, name := range names {
		out[i] = builder.MakeCluster(name).Label("name", name).Obj()
	}
	return out
}

func weight(w int64, clusters ...string) policyv1alpha1.StaticClusterWeight {
	return policyv1alpha1.StaticClusterWeight{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: clusters}, Weight: w}
}

func divided(weights ...policyv1alpha1.StaticClusterWeight) *policyv1alpha1.ReplicaSchedulingStrategy {
	return &policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType:     policyv1alpha1.Divided,
		ReplicaDivisionPreference: policyv1alpha1.Weighted,
		WeightPreference:          &policyv1alpha1.ClusterPreferences{StaticWeightList: weights},
	}
}

func TestReplicas(t *testing.T) {
	t.Parallel()
	type targets = []workv1alpha2.TargetCluster
	tests := map[string]struct {
		replicas   int32
		components []workv1alpha2.Component
		uid        types.UID
		strategy   *policyv1alpha1.ReplicaSchedulingStrategy
		clusters   []string
		want       targets
	}{
		"an object without replicas goes to every cluster": {
			clusters: []string{"a", "b"}, want: targets{{Name: "a"}, {Name: "b"}},
		},
		"a workload scaled to zero goes to every cluster, ready to be scaled up": {
			strategy: divided(weight(1, "a")), clusters: []string{"a", "b"}, want: targets{{Name: "a"}, {Name: "b"}},
		},
		"a workload with components goes to every cluster as a whole": {
			replicas: 3, components: []workv1alpha2.Component{{Name: "x"}, {Name: "y"}}, strategy: divided(),
			clusters: []string{"a", "b"}, want: targets{{Name: "a"}, {Name: "b"}},
		},
		"without a strategy every cluster gets all replicas": {
			replicas: 3, clusters: []string{"a", "b"}, want: targets{{Name: "a", Replicas: 3}, {Name: "b", Replicas: 3}},
		},
		"duplicated gives every cluster all replicas, whatever the weights": {
			replicas: 3,
			strategy: &policyv1alpha1.ReplicaSchedulingStrategy{
				ReplicaSchedulingType:     policyv1alpha1.Duplicated,
				ReplicaDivisionPreference: policyv1alpha1.Aggregated,
				WeightPreference:          &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas},
			},
			clusters: []string{"a", "b"}, want: targets{{Name: "a", Replicas: 3}, {Name: "b", Replicas: 3}},
		},
		"divided without weights gives equal shares": {
			replicas: 5, strategy: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided},
			clusters: []string{"a", "b"}, want: targets{{Name: "a", Replicas: 3}, {Name: "b", Replicas: 2}},
		},
		"without a replicaSchedulingType replicas are divided": {
			replicas: 4, strategy: &policyv1alpha1.ReplicaSchedulingStrategy{},
			clusters: []string{"a", "b"}, want: targets{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 2}},
		},
		"weights are proportions": {
			replicas: 9, strategy: divided(weight(1, "a"), weight(2, "b")),
			clusters: []string{"a", "b"}, want: targets{{Name: "a", Replicas: 3}, {Name: "b", Replicas: 6}},
		},
		"the largest of several entries for a cluster counts": {
			replicas: 9, strategy: divided(weight(2, "b"), weight(1, "a", "b")),
			clusters: []string{"a", "b"}, want: targets{{Name: "a", Replicas: 3}, {Name: "b", Replicas: 6}},
		},
		"a cluster that is not listed gets nothing": {
			replicas: 4, strategy: divided(weight(1, "a"), weight(1, "c")),
			clusters: []string{"a", "b", "c"}, want: targets{{Name: "a", Replicas: 2}, {Name: "c", Replicas: 2}},
		},
		"if no cluster is listed all weigh the same": {
			replicas: 4, strategy: divided(weight(5, "z")),
			clusters: []string{"a", "b"}, want: targets{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 2}},
		},
		"an entry without clusters selects all": {
			replicas: 4, strategy: divided(weight(1), weight(3, "b")),
			clusters: []string{"a", "b"}, want: targets{{Name: "a", Replicas: 1}, {Name: "b", Replicas: 3}},
		},
		"a cluster whose share is zero is not a target": {
			replicas: 1, strategy: divided(weight(1, "a"), weight(9, "b")),
			clusters: []string{"a", "b"}, want: targets{{Name: "b", Replicas: 1}},
		},
		"the odd replica goes to the first name": {
			replicas: 1, strategy: divided(), clusters: []string{"a", "b"}, want: targets{{Name: "a", Replicas: 1}},
		},
		"the odd replica goes to the last name if the template's UID says so": {
			replicas: 1, uid: "b", strategy: divided(), clusters: []string{"a", "b"}, want: targets{{Name: "b", Replicas: 1}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			spec := &workv1alpha2.ResourceBindingSpec{
				Resource: workv1alpha2.ObjectReference{UID: tt.uid}, Replicas: tt.replicas, Components: tt.components,
				Placement: &policyv1alpha1.Placement{ReplicaScheduling: tt.strategy},
			}
			g.Expect(static(g, spec, members(tt.clusters...))).To(BeComparableTo(tt.want))
		})
	}
}

// static assigns replicas by a spec, without regard to capacity.
func static(g Gomega, spec *workv1alpha2.ResourceBindingSpec, clusters []*clusterv1alpha1.Cluster) []workv1alpha2.TargetCluster {
	strategy := assign.StrategyOf(spec)
	candidates := make([]assign.Candidate, len(clusters))
	for i, c := range clusters {
		candidates[i] = assign.Candidate{Cluster: c, Weight: 1}
	}
	if strategy == assign.StaticWeight {
		weights, err := assign.Weights(spec.Placement.ReplicaScheduling.WeightPreference, clusters)
		g.Expect(err).NotTo(HaveOccurred())
		for i := range weights {
			candidates[i].Weight = weights[i]
		}
	}
	shares, short := assign.Replicas(assign.Request{
		Strategy: strategy, Replicas: spec.Replicas, DescendingTies: division.DescendingTies(string(spec.Resource.UID)),
	}, candidates)
	g.Expect(short).To(BeNil())
	var out []workv1alpha2.TargetCluster
	for i, share := range shares {
		if share > 0 || strategy == assign.Everywhere {
			out = append(out, workv1alpha2.TargetCluster{Name: candidates[i].Cluster.Name, Replicas: share})
		}
	}
	return out
}

func TestWeightsNamesTheInvalidEntry(t *testing.T) {
	t.Parallel()
	bad := weight(1)
	bad.TargetCluster.FieldSelector = &policyv1alpha1.FieldSelector{}
	bad.TargetCluster.FieldSelector.MatchExpressions = append(bad.TargetCluster.FieldSelector.MatchExpressions, requirement("planet"))
	_, err := assign.Weights(divided(weight(1), bad).WeightPreference, members("a"))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("staticWeightList[1]")))
}

func requirement(key string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{"x"}}
}
