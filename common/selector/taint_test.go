package selector_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
	"fairlead.dev/test/builder"
)

func TestTaintPoliciesActFromTheOldestOn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	policy := func(name string, age time.Duration) policyv1alpha1.ClusterTaintPolicy {
		return policyv1alpha1.ClusterTaintPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(at.Add(-age))}}
	}
	going := policy("going", time.Hour)
	going.DeletionTimestamp = &metav1.Time{Time: at}
	policies, invalid := selector.CompileTaintPolicies([]policyv1alpha1.ClusterTaintPolicy{
		policy("young", 0), policy("old-b", time.Minute), going, policy("old-a", time.Minute),
	})
	g.Expect(invalid).To(BeEmpty())
	var names []string
	for _, p := range policies {
		names = append(names, p.Policy.Name)
	}
	g.Expect(names).To(Equal([]string{"old-a", "old-b", "young"}))
}

func TestTheVersionsOfTaintPoliciesTellWhetherOneChanged(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	policy := func(uid types.UID, version string) policyv1alpha1.ClusterTaintPolicy {
		return policyv1alpha1.ClusterTaintPolicy{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version}}
	}
	known := selector.TaintPolicyVersions([]policyv1alpha1.ClusterTaintPolicy{policy("a", "1"), policy("b", "2")})
	for name, list := range map[string][]policyv1alpha1.ClusterTaintPolicy{
		"one was edited":          {policy("a", "1"), policy("b", "3")},
		"one is gone":             {policy("a", "1")},
		"one came":                {policy("a", "1"), policy("b", "2"), policy("c", "1")},
		"another of the same age": {policy("a", "1"), policy("c", "2")},
	} {
		g.Expect(selector.TaintPolicyVersions(list)).NotTo(Equal(known), name)
	}
	g.Expect(selector.TaintPolicyVersions([]policyv1alpha1.ClusterTaintPolicy{policy("b", "2"), policy("a", "1")})).To(Equal(known), "the order is no change")
}

func TestATaintPolicyThatCannotBeReadIsLeftOut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	bad := policyv1alpha1.ClusterTaintPolicy{Spec: policyv1alpha1.ClusterTaintPolicySpec{TargetClusters: &policyv1alpha1.ClusterAffinity{
		LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Perhaps"}}},
	}}}
	policies, invalid := selector.CompileTaintPolicies([]policyv1alpha1.ClusterTaintPolicy{bad})
	g.Expect(policies).To(BeEmpty())
	g.Expect(invalid).To(HaveLen(1))
}

func TestATaintPolicyAddsOrRemovesWhereItsConditionsAreMet(t *testing.T) {
	t.Parallel()
	ready := func(status metav1.ConditionStatus) []policyv1alpha1.MatchCondition {
		return []policyv1alpha1.MatchCondition{{
			ConditionType: "Ready", Operator: policyv1alpha1.MatchConditionIn, StatusValues: []metav1.ConditionStatus{status},
		}}
	}
	cases := map[string]struct {
		spec policyv1alpha1.ClusterTaintPolicySpec
		want selector.TaintChange
	}{
		"nothing is met": {policyv1alpha1.ClusterTaintPolicySpec{AddOnConditions: ready("True"), RemoveOnConditions: ready("Unknown")}, selector.KeepTaints},
		"adding is met":  {policyv1alpha1.ClusterTaintPolicySpec{AddOnConditions: ready("False")}, selector.AddTaints},
		"both are met":   {policyv1alpha1.ClusterTaintPolicySpec{AddOnConditions: ready("False"), RemoveOnConditions: ready("False")}, selector.RemoveTaints},
		"another cluster is selected": {policyv1alpha1.ClusterTaintPolicySpec{
			TargetClusters: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2"}}, AddOnConditions: ready("False"),
		}, selector.KeepTaints},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			policies, _ := selector.CompileTaintPolicies([]policyv1alpha1.ClusterTaintPolicy{{Spec: tc.spec}})
			g.Expect(policies).To(HaveLen(1))
			conditions := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse}}
			g.Expect(policies[0].Change(builder.MakeCluster("edge-1").Obj(), conditions)).To(Equal(tc.want))
		})
	}
}
