package taint

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
	"fairlead.dev/test/builder"
)

func when(conditionType string, op policyv1alpha1.MatchConditionOperator, statuses ...metav1.ConditionStatus) policyv1alpha1.MatchCondition {
	return policyv1alpha1.MatchCondition{ConditionType: conditionType, Operator: op, StatusValues: statuses}
}

func TestByPolicy(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 500, time.UTC)
	since := metav1.NewTime(now.Truncate(time.Second))
	const in, notIn = policyv1alpha1.MatchConditionIn, policyv1alpha1.MatchConditionNotIn
	lost := policyv1alpha1.ClusterTaint{Key: "lost", Effect: corev1.TaintEffectNoExecute, Value: "yes"}
	lostSince := corev1.Taint{Key: "lost", Effect: corev1.TaintEffectNoExecute, Value: "yes", TimeAdded: &since}
	byHand := corev1.Taint{Key: "lost", Effect: corev1.TaintEffectNoExecute, Value: "by hand"}
	mine := corev1.Taint{Key: "mine", Effect: corev1.TaintEffectNoSchedule}
	policy := func(change func(*policyv1alpha1.ClusterTaintPolicySpec)) policyv1alpha1.ClusterTaintPolicy {
		p := policyv1alpha1.ClusterTaintPolicy{Spec: policyv1alpha1.ClusterTaintPolicySpec{
			AddOnConditions:    []policyv1alpha1.MatchCondition{when("Ready", notIn, "True")},
			RemoveOnConditions: []policyv1alpha1.MatchCondition{when("Ready", in, "True")},
			Taints:             []policyv1alpha1.ClusterTaint{lost},
		}}
		if change != nil {
			change(&p.Spec)
		}
		return p
	}
	tests := map[string]struct {
		policies []policyv1alpha1.ClusterTaintPolicy
		ready    metav1.ConditionStatus
		have     []corev1.Taint
		want     []corev1.Taint
	}{
		"no policy leaves taints as they are": {ready: "False", have: []corev1.Taint{mine}, want: []corev1.Taint{mine}},
		"what is met adds": {
			policies: []policyv1alpha1.ClusterTaintPolicy{policy(nil)}, ready: "Unknown", have: []corev1.Taint{mine}, want: []corev1.Taint{mine, lostSince},
		},
		"what is there keeps its value": {
			policies: []policyv1alpha1.ClusterTaintPolicy{policy(nil)}, ready: "Unknown", have: []corev1.Taint{byHand}, want: []corev1.Taint{byHand},
		},
		"what is met removes, also what was put there by hand": {
			policies: []policyv1alpha1.ClusterTaintPolicy{policy(nil)}, ready: "True", have: []corev1.Taint{byHand, mine}, want: []corev1.Taint{mine},
		},
		"a condition that is missing is not met": {
			policies: []policyv1alpha1.ClusterTaintPolicy{policy(nil)}, want: []corev1.Taint{},
		},
		"all must be met": {
			policies: []policyv1alpha1.ClusterTaintPolicy{policy(func(s *policyv1alpha1.ClusterTaintPolicySpec) {
				s.AddOnConditions = append(s.AddOnConditions, when("Other", in, "True"))
			})}, ready: "False", want: []corev1.Taint{},
		},
		"no condition is never met": {
			policies: []policyv1alpha1.ClusterTaintPolicy{policy(func(s *policyv1alpha1.ClusterTaintPolicySpec) { s.AddOnConditions = nil })},
			ready:    "False", want: []corev1.Taint{},
		},
		"met both ways removes": {
			policies: []policyv1alpha1.ClusterTaintPolicy{policy(func(s *policyv1alpha1.ClusterTaintPolicySpec) {
				s.RemoveOnConditions = s.AddOnConditions
			})}, ready: "False", have: []corev1.Taint{byHand}, want: []corev1.Taint{},
		},
		"another cluster is left alone": {
			policies: []policyv1alpha1.ClusterTaintPolicy{policy(func(s *policyv1alpha1.ClusterTaintPolicySpec) {
				s.TargetClusters = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2"}}
			})}, ready: "False", want: []corev1.Taint{},
		},
		"the younger policy has the last word": {
			policies: []policyv1alpha1.ClusterTaintPolicy{
				policy(func(s *policyv1alpha1.ClusterTaintPolicySpec) { s.RemoveOnConditions = s.AddOnConditions }),
				policy(nil),
			}, ready: "False", want: []corev1.Taint{lostSince},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			for i := range tc.policies {
				tc.policies[i].CreationTimestamp = metav1.NewTime(now.Add(time.Duration(i) * time.Second))
			}
			policies, invalid := selector.CompileTaintPolicies(tc.policies)
			g.Expect(invalid).To(BeEmpty())
			c := builder.MakeCluster("edge-1").Obj()
			c.Spec.Taints = tc.have
			if tc.ready != "" {
				c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: tc.ready}}
			}
			got := ByPolicy(c, c.Status.Conditions, policies, now)
			g.Expect(append([]corev1.Taint{}, got...)).To(Equal(tc.want))
		})
	}
}

func TestAClusterThatIsNotBelievedIsStillSilent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	conditions := []metav1.Condition{{Type: "Other", Status: "True"}, {Type: "Ready", Status: "True"}}
	g.Expect(EffectiveConditions(conditions, false)).To(Equal(conditions))
	g.Expect(EffectiveConditions(conditions, true)[1].Status).To(Equal(metav1.ConditionUnknown))
	g.Expect(conditions[1].Status).To(Equal(metav1.ConditionTrue), "what is given stays as it is")
}
