package failover

import (
	"reflect"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/failover/evict"
	"fairlead.dev/test/builder"
)

// TestTaintPoliciesAreSeenAtOnce holds that what was compiled of them is compiled anew when there is another.
func TestTaintPoliciesAreSeenAtOnce(t *testing.T) {
	t.Parallel()
	g, ctx := NewWithT(t), t.Context()
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	hub := fake.NewClientBuilder().WithScheme(scheme).Build()
	known := &taints{hubClient: hub}
	policies, err := known.compiled(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(policies.Keys()).To(BeEmpty())
	policy := &policyv1alpha1.ClusterTaintPolicy{ObjectMeta: metav1.ObjectMeta{Name: "lost"}}
	policy.Spec.Taints = []policyv1alpha1.ClusterTaint{{Key: "lost", Effect: "NoExecute"}}
	g.Expect(hub.Create(ctx, policy)).To(Succeed())
	policies, err = known.compiled(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(policies.Keys().UnsortedList()).To(ConsistOf("lost"))
}

// TestWhichTaintsAreAboutToGoIsFoundOnce holds that it is found anew when the cluster changes, or a policy.
func TestWhichTaintsAreAboutToGoIsFoundOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	policy := func(key string) evict.TaintPolicies {
		p := policyv1alpha1.ClusterTaintPolicy{ObjectMeta: metav1.ObjectMeta{Name: "lost"}}
		p.Spec.RemoveOnConditions = []policyv1alpha1.MatchCondition{{
			ConditionType: clusterv1alpha1.ClusterReady, Operator: policyv1alpha1.MatchConditionIn, StatusValues: []metav1.ConditionStatus{metav1.ConditionTrue},
		}}
		p.Spec.Taints = []policyv1alpha1.ClusterTaint{{Key: key, Effect: "NoExecute"}}
		return evict.CompileTaintPolicies([]policyv1alpha1.ClusterTaintPolicy{p})
	}
	known := &taints{policies: policy("lost"), versions: "1"}
	c := builder.MakeCluster("edge-1").Obj()
	c.ResourceVersion = "1"
	c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue}}
	first := known.expiringOn(c)
	g.Expect(first.UnsortedList()).To(ConsistOf("lost"))
	g.Expect(reflect.ValueOf(known.expiringOn(c)).Pointer()).To(Equal(reflect.ValueOf(first).Pointer()), "the same set")
	c = c.DeepCopy()
	c.ResourceVersion, c.Status.Conditions[0].Status = "2", metav1.ConditionUnknown
	g.Expect(known.expiringOn(c)).To(BeEmpty())
	c = c.DeepCopy()
	c.ResourceVersion, c.Status.Conditions[0].Status = "3", metav1.ConditionTrue
	g.Expect(known.expiringOn(c)).To(HaveKey("lost"))
	known.policies, known.versions = policy("gone"), "2"
	g.Expect(known.expiringOn(c).UnsortedList()).To(ConsistOf("gone"))
	known.gone(c)
	g.Expect(known.expiring).To(BeEmpty())
}
