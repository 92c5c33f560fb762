package integration

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/test/builder"
)

// TestStateGoesAlong moves an application out of a cluster. State last reported by the old copy becomes a label of the
// new one.
func TestStateGoesAlong(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := exclusive(t)
	ns := s.namespace(t)
	template := builder.MakeDeployment(ns, "web").Replicas(1).Obj()
	policy := builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").Obj()
	policy.Spec.Placement.ClusterAffinities = []policyv1alpha1.ClusterAffinityTerm{
		{AffinityName: "first", ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"shop-1"}}},
		{AffinityName: "second", ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"shop-2"}}},
	}
	policy.Spec.Failover = &policyv1alpha1.FailoverBehavior{Cluster: &policyv1alpha1.ClusterFailoverBehavior{
		PurgeMode: policyv1alpha1.PurgeDirectly,
		StatePreservation: &policyv1alpha1.StatePreservation{Rules: []policyv1alpha1.StatePreservationRule{
			{AliasLabelName: "had-ready", JSONPath: "{ .readyReplicas }"},
		}},
	}}
	s.create(t, template, policy)
	eventually(t, func(g Gomega) {
		items := s.binding(t, g, template).Status.AggregatedStatus
		g.Expect(items).To(HaveLen(1))
		g.Expect(items[0].Status).NotTo(BeNil())
		g.Expect(string(items[0].Status.Raw)).To(ContainSubstring(`"readyReplicas":1`))
	})

	ctx := context.WithoutCancel(t.Context())
	taint := func(taints ...corev1.Taint) {
		cluster := &clusterv1alpha1.Cluster{}
		g.Expect(s.hub.Client(t).Get(ctx, client.ObjectKey{Name: "shop-1"}, cluster)).To(Succeed())
		before := cluster.DeepCopy()
		cluster.Spec.Taints = taints
		g.Expect(s.hub.Client(t).Patch(ctx, cluster, client.MergeFrom(before))).To(Succeed())
	}
	taint(corev1.Taint{Key: "leave", Effect: corev1.TaintEffectNoExecute})
	t.Cleanup(func() { taint() })
	eventually(t, func(g Gomega) {
		g.Expect(s.get(t, s.member("shop-1"), template)).To(Satisfy(apierrors.IsNotFound))
		g.Expect(s.inMember(t, g, "shop-2", template).GetLabels()).To(HaveKeyWithValue("had-ready", "1"))
	})
}
