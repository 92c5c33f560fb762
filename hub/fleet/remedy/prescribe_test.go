package remedy

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	remedyv1alpha1 "fairlead.dev/common/api/remedy/v1alpha1"
)

const dns = "ServiceDomainNameResolutionReady"

// edge is a cluster that cannot resolve DNS names.
func edge() *clusterv1alpha1.Cluster {
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}}
	c.Status.Conditions = []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionTrue}, {Type: dns, Status: metav1.ConditionFalse},
	}
	return c
}

func remedy(name string, spec remedyv1alpha1.RemedySpec) remedyv1alpha1.Remedy {
	if spec.Actions == nil {
		spec.Actions = []remedyv1alpha1.RemedyAction{remedyv1alpha1.TrafficControl}
	}
	return remedyv1alpha1.Remedy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

func when(condition string, operator remedyv1alpha1.ClusterConditionOperator, status string) remedyv1alpha1.DecisionMatch {
	return remedyv1alpha1.DecisionMatch{ClusterConditionMatch: &remedyv1alpha1.ClusterConditionRequirement{
		ConditionType: condition, Operator: operator, ConditionStatus: status,
	}}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	type matches = []remedyv1alpha1.DecisionMatch
	type spec = remedyv1alpha1.RemedySpec
	const equal, notEqual = remedyv1alpha1.ClusterConditionEqual, remedyv1alpha1.ClusterConditionNotEqual
	of := func(names ...string) *remedyv1alpha1.ClusterAffinity {
		return &remedyv1alpha1.ClusterAffinity{ClusterNames: names}
	}
	tests := map[string]struct {
		spec spec
		want bool
	}{
		"for all clusters, at all times":                {spec{}, true},
		"for this cluster":                              {spec{ClusterAffinity: of("edge-2", "edge-1")}, true},
		"for another cluster":                           {spec{ClusterAffinity: of("edge-2")}, false},
		"for a list of no clusters":                     {spec{ClusterAffinity: of()}, false},
		"in a condition that holds":                     {spec{DecisionMatches: matches{when(dns, equal, "False")}}, true},
		"in a condition that does not hold":             {spec{DecisionMatches: matches{when(dns, equal, "True")}}, false},
		"unless in a condition that does not hold":      {spec{DecisionMatches: matches{when(dns, notEqual, "True")}}, true},
		"unless in a condition that holds":              {spec{DecisionMatches: matches{when(dns, notEqual, "False")}}, false},
		"in a condition that nobody knows":              {spec{DecisionMatches: matches{when("Unheard", equal, "True")}}, false},
		"unless in a condition that nobody knows":       {spec{DecisionMatches: matches{when("Unheard", notEqual, "True")}}, false},
		"in one of several conditions":                  {spec{DecisionMatches: matches{when("Ready", equal, "False"), when(dns, equal, "False")}}, true},
		"in no condition at all":                        {spec{DecisionMatches: matches{}}, false},
		"in a condition that says nothing":              {spec{DecisionMatches: matches{{}}}, false},
		"with nothing to do":                            {spec{Actions: []remedyv1alpha1.RemedyAction{}}, false},
		"in a condition that holds, of another cluster": {spec{ClusterAffinity: of("edge-2"), DecisionMatches: matches{when(dns, equal, "False")}}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := prescription{}
			if tt.want {
				want = prescription{Actions: []string{"TrafficControl"}, By: []string{"r"}}
			}
			NewWithT(t).Expect(prescribe(edge(), []remedyv1alpha1.Remedy{remedy("r", tt.spec)})).To(BeComparableTo(want))
		})
	}
}

func TestSeveralRemediesAddUp(t *testing.T) {
	t.Parallel()
	going := remedy("going", remedyv1alpha1.RemedySpec{Actions: []remedyv1alpha1.RemedyAction{"Nothing"}})
	going.DeletionTimestamp = &metav1.Time{}
	going.DeletionTimestamp.Time = metav1.Now().Time
	got := prescribe(edge(), []remedyv1alpha1.Remedy{
		remedy("z", remedyv1alpha1.RemedySpec{Actions: []remedyv1alpha1.RemedyAction{"TrafficControl", "Alarm"}}),
		remedy("a", remedyv1alpha1.RemedySpec{}), going,
	})
	NewWithT(t).Expect(got).To(BeComparableTo(prescription{Actions: []string{"Alarm", "TrafficControl"}, By: []string{"a", "z"}}))
}
