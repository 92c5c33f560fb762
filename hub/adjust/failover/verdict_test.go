package failover

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/failover/evict"
	"fairlead.dev/test/builder"
)

// region has clusters of which the given number are silent since some time.
func region(of, silent int, since time.Time) []client.Object {
	out := make([]client.Object, of)
	for i := range out {
		c := builder.MakeCluster(fmt.Sprintf("edge-%04d", i)).Obj()
		ready := metav1.Condition{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue, Reason: "ClusterReady", LastTransitionTime: metav1.NewTime(since)}
		if i < silent {
			ready.Status = metav1.ConditionUnknown
		}
		c.Status.Conditions = []metav1.Condition{ready}
		out[i] = c
	}
	return out
}

func TestOneVerdictIsMadeForAllBindings(t *testing.T) {
	t.Parallel()
	g, ctx := NewWithT(t), t.Context()
	now := time.Now().Truncate(time.Second)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	lists := 0
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(region(4, 3, now)...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*clusterv1alpha1.ClusterList); ok {
				lists++
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	v := &verdicts{hubClient: hub}
	for range 1000 {
		verdict, err := v.now(ctx, now)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(verdict.Silent).To(HaveLen(3))
	}
	g.Expect(lists).To(Equal(1))

	back := &clusterv1alpha1.Cluster{}
	g.Expect(hub.Get(ctx, client.ObjectKey{Name: "edge-0001"}, back)).To(Succeed())
	back.Status.Conditions[0].Status = metav1.ConditionTrue
	g.Expect(hub.Update(ctx, back)).To(Succeed())
	v.outdate(back)
	verdict, err := v.now(ctx, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(verdict.Silent).To(BeEmpty(), "half of them is not most")
	_, err = v.now(ctx, now.Add(verdictLasts))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lists).To(Equal(3), "time passes, too")

	policies, err := v.taintPolicies(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(policies.Keys()).To(BeEmpty())
	policy := &policyv1alpha1.ClusterTaintPolicy{ObjectMeta: metav1.ObjectMeta{Name: "lost"}}
	policy.Spec.Taints = []policyv1alpha1.ClusterTaint{{Key: "lost", Effect: "NoExecute"}}
	g.Expect(hub.Create(ctx, policy)).To(Succeed())
	policies, err = v.taintPolicies(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(policies.Keys().UnsortedList()).To(ConsistOf("lost"), "a new policy is seen at once")
}

// TestAChangeOfAClusterIsOneVerdict has both controllers tell of each cluster of a region that falls silent, while bindings ask.
func TestAChangeOfAClusterIsOneVerdict(t *testing.T) {
	t.Parallel()
	const clusters = 50
	g, ctx := NewWithT(t), t.Context()
	now := time.Now().Truncate(time.Second)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	lists := 0
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(region(2*clusters, 0, now)...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*clusterv1alpha1.ClusterList); ok {
				lists++
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	v := &verdicts{hubClient: hub}
	kinds := []*reconciler{}
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		kinds = append(kinds, &reconciler{hubClient: hub, kind: kind, verdicts: v, clock: clocktesting.NewFakePassiveClock(now)})
	}
	tell := func(before, after *clusterv1alpha1.Cluster) {
		for _, r := range kinds {
			r.onCluster().Update(ctx, event.UpdateEvent{ObjectOld: before, ObjectNew: after}, nil)
			_, err := v.now(ctx, now)
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	for i := range clusters {
		before := &clusterv1alpha1.Cluster{}
		g.Expect(hub.Get(ctx, client.ObjectKey{Name: fmt.Sprintf("edge-%04d", i)}, before)).To(Succeed())
		silent := before.DeepCopy()
		silent.Status.Conditions[0].Status = metav1.ConditionUnknown
		g.Expect(hub.Update(ctx, silent)).To(Succeed())
		tell(before, silent)
		noted := silent.DeepCopy()
		noted.Status.Conditions = append(noted.Status.Conditions, metav1.Condition{Type: "CapacityJumped", Status: metav1.ConditionTrue})
		g.Expect(hub.Update(ctx, noted)).To(Succeed())
		tell(silent, noted)
	}
	g.Expect(lists).To(Equal(clusters))
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
	v := &verdicts{policies: policy("lost"), versions: "1"}
	c := builder.MakeCluster("edge-1").Obj()
	c.ResourceVersion = "1"
	c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue}}
	first := v.expiringOn(c)
	g.Expect(first.UnsortedList()).To(ConsistOf("lost"))
	g.Expect(reflect.ValueOf(v.expiringOn(c)).Pointer()).To(Equal(reflect.ValueOf(first).Pointer()), "the same set")
	c = c.DeepCopy()
	c.ResourceVersion, c.Status.Conditions[0].Status = "2", metav1.ConditionUnknown
	g.Expect(v.expiringOn(c)).To(BeEmpty())
	c = c.DeepCopy()
	c.ResourceVersion, c.Status.Conditions[0].Status = "3", metav1.ConditionTrue
	g.Expect(v.expiringOn(c)).To(HaveKey("lost"))
	v.policies, v.versions = policy("gone"), "2"
	g.Expect(v.expiringOn(c).UnsortedList()).To(ConsistOf("gone"))
	v.gone(c)
	g.Expect(v.expiring).To(BeEmpty())
}

// BenchmarkVerdictOnALostRegion is what each binding pays for the verdict when many clusters fell silent, and what
// one verdict costs.
func BenchmarkVerdictOnALostRegion(b *testing.B) {
	now := time.Now()
	clusters := []*clusterv1alpha1.Cluster{}
	for _, obj := range region(5000, 3000, now) {
		if c, ok := obj.(*clusterv1alpha1.Cluster); ok {
			clusters = append(clusters, c)
		}
	}
	b.Run("made", func(b *testing.B) {
		for b.Loop() {
			disruption.Decide(clusters, now)
		}
	})
	b.Run("shared", func(b *testing.B) {
		v := &verdicts{fresh: true, at: now, verdict: disruption.Decide(clusters, now)}
		for b.Loop() {
			if _, err := v.now(b.Context(), now); err != nil {
				b.Fatal(err)
			}
		}
	})
}
