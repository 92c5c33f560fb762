package failover

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/failover/evict"
	"fairlead.dev/test/builder"
)

// TestTaintPoliciesAreSeenAtOnce checks that the compiled policies are recompiled when a policy is added.
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

// TestTaintPoliciesAreCompiledOnceInWhateverOrderTheyAreListed checks that a different order, which varies with each
// list from the cache, does not count as a change.
func TestTaintPoliciesAreCompiledOnceInWhateverOrderTheyAreListed(t *testing.T) {
	t.Parallel()
	g, ctx := NewWithT(t), t.Context()
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	policy := func(name string) *policyv1alpha1.ClusterTaintPolicy {
		return &policyv1alpha1.ClusterTaintPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	}
	lists := 0
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(policy("a"), policy("b")).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if policies, ok := list.(*policyv1alpha1.ClusterTaintPolicyList); ok && lists%2 == 1 {
				slices.Reverse(policies.Items)
			}
			lists++
			return err
		},
	}).Build()
	known := &taints{hubClient: hub}
	first, err := known.compiled(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	again, err := known.compiled(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lists).To(Equal(2))
	g.Expect(reflect.ValueOf(again.Keys()).Pointer()).To(Equal(reflect.ValueOf(first.Keys()).Pointer()), "the same set")
}

// TestWhichTaintsAreAboutToGoIsFoundOnce checks that the result is computed again only when the cluster or a policy
// changes.
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

// TestTaintsThatComeAreSeenByTheClockOfTheProcess checks that the age of a taint is measured by this process's clock,
// whatever timestamp the taint carries, except for taints that were there before.
func TestTaintsThatComeAreSeenByTheClockOfTheProcess(t *testing.T) {
	t.Parallel()
	g, noon := NewWithT(t), time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	with := func(taints ...corev1.Taint) *clusterv1alpha1.Cluster {
		c := builder.MakeCluster("edge-1").Obj()
		c.Spec.Taints = taints
		return c
	}
	taint := func(key string, hour int) corev1.Taint {
		return corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute, TimeAdded: &metav1.Time{Time: noon.Add(time.Duration(hour) * time.Hour)}}
	}
	known := &taints{}
	old, lost, again := taint("old", 0), taint("lost", -1), taint("lost", 3)
	g.Expect(known.seenFor(with(old), noon)).To(BeEmpty(), "it was there")
	known.see(with(old), with(old, lost), noon)
	known.see(with(old), with(old, lost), noon.Add(time.Second)) // the other controller is notified as well
	g.Expect(known.seenFor(with(old, lost), noon.Add(time.Minute))).To(Equal(map[string]time.Duration{"lost": time.Minute}))
	g.Expect(known.seenFor(with(old, again), noon.Add(time.Minute))).To(BeEmpty(), "it is another one, of which nobody told yet")
	known.see(with(old, lost), with(old, again), noon.Add(time.Minute))
	g.Expect(known.seenFor(with(old, again), noon.Add(2*time.Minute))).To(Equal(map[string]time.Duration{"lost": time.Minute}))
	known.see(with(old, again), with(old), noon.Add(time.Minute))
	g.Expect(known.seenFor(with(old), noon.Add(time.Hour))).To(BeEmpty())
}
