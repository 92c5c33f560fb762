package failover

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
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
	v.outdate()
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
