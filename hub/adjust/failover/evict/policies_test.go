package evict

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/test/builder"
)

func TestWhichTaintsAreAboutToGo(t *testing.T) {
	t.Parallel()
	when := func(operator policyv1alpha1.MatchConditionOperator, status metav1.ConditionStatus) []policyv1alpha1.MatchCondition {
		return []policyv1alpha1.MatchCondition{{ConditionType: "Ready", Operator: operator, StatusValues: []metav1.ConditionStatus{status}}}
	}
	lost := func(name, key string, changes ...func(*policyv1alpha1.ClusterTaintPolicy)) policyv1alpha1.ClusterTaintPolicy {
		p := policyv1alpha1.ClusterTaintPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: policyv1alpha1.ClusterTaintPolicySpec{
			AddOnConditions: when("NotIn", "True"), RemoveOnConditions: when("In", "True"),
			Taints: []policyv1alpha1.ClusterTaint{{Key: key, Effect: corev1.TaintEffectNoExecute}, {Key: "other", Effect: corev1.TaintEffectNoSchedule}},
		}}
		for _, change := range changes {
			change(&p)
		}
		return p
	}
	list := []policyv1alpha1.ClusterTaintPolicy{
		lost("z-again", "again", func(p *policyv1alpha1.ClusterTaintPolicy) {
			p.Spec.AddOnConditions, p.Spec.RemoveOnConditions = when("In", "True"), nil
		}),
		lost("a-again", "again"),
		lost("lost", "lost"),
		lost("elsewhere", "elsewhere", func(p *policyv1alpha1.ClusterTaintPolicy) {
			p.Spec.TargetClusters = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2"}}
		}),
		lost("going", "going", func(p *policyv1alpha1.ClusterTaintPolicy) { p.DeletionTimestamp = &metav1.Time{} }),
	}
	list[4].DeletionTimestamp = new(metav1.Now())
	p := CompileTaintPolicies(list)
	c := builder.MakeCluster("edge-1").Obj()
	g := NewWithT(t)
	g.Expect(sets.List(p.Keys())).To(Equal([]string{"again", "elsewhere", "going", "lost"}))
	g.Expect(sets.List(p.BySilence())).To(Equal([]string{"again", "elsewhere", "going", "lost"}))
	sick := CompileTaintPolicies([]policyv1alpha1.ClusterTaintPolicy{lost("sick", "sick", func(p *policyv1alpha1.ClusterTaintPolicy) {
		p.Spec.AddOnConditions = when("In", "True")
		p.Spec.AddOnConditions[0].ConditionType = "DiskPressure"
	}), lost("ready", "ready", func(p *policyv1alpha1.ClusterTaintPolicy) {
		p.Spec.AddOnConditions = when("In", "True")
	}), lost("unknown", "unknown", func(p *policyv1alpha1.ClusterTaintPolicy) {
		p.Spec.AddOnConditions = when("In", "Unknown")
	})})
	g.Expect(sets.List(sick.BySilence())).To(Equal([]string{"unknown"}), "others are no silence")
	g.Expect(p.Expiring(c)).To(BeEmpty(), "it has no condition")
	c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionUnknown}}
	g.Expect(p.Expiring(c)).To(BeEmpty())
	c.Status.Conditions[0].Status = metav1.ConditionTrue
	g.Expect(sets.List(p.Expiring(c))).To(Equal([]string{"lost"}), "one that is removed and added again stays")
}
