package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/builder"
)

// TestAQuotaInAMemberBoundsItsShare fills a namespace of a member up to its ResourceQuota: further replicas overflow,
// then wait, and are placed when somebody raises the quota.
func TestAQuotaInAMemberBoundsItsShare(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := exclusive(t)
	ns := s.namespace(t)
	settings := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	template := builder.MakeDeployment(ns, "web").Replicas(5).Set(containers("10m"), "spec", "template", "spec", "containers").Obj()
	policy := builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").Obj()
	near := policyv1alpha1.ClusterAffinityTerm{AffinityName: "near", ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"shop-1"}}}
	near.OverflowAffinities = []policyv1alpha1.OverflowAffinityTerm{
		{AffinityName: "far", ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"shop-2"}}},
	}
	policy.Spec.Placement = policyv1alpha1.Placement{
		ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{near},
		ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Aggregated,
		},
	}
	shares := func(g Gomega) map[string]int32 {
		out := map[string]int32{}
		for _, target := range s.binding(t, g, template).Spec.Clusters {
			out[target.Name] = target.Replicas
		}
		return out
	}
	scale := func(replicas int64) {
		s.update(t, template, func(u *unstructured.Unstructured) {
			g.Expect(unstructured.SetNestedField(u.Object, replicas, "spec", "replicas")).To(Succeed())
		})
	}
	limit := func(member string, pods int64) {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "owner"}}
		quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI)}
		in := s.member(member).Client(t)
		g.Eventually(func() error { // its namespace is created with the first object
			if pods == 0 {
				return in.Delete(t.Context(), quota)
			}
			return in.Create(t.Context(), quota)
		}).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
	}
	free := func(g Gomega, member string) string {
		c := &clusterv1alpha1.Cluster{}
		g.Expect(s.hub.Client(t).Get(t.Context(), client.ObjectKey{Name: member}, c)).To(Succeed())
		for _, q := range c.Status.NamespaceQuotas {
			if q.Namespace == ns {
				return q.Free.Pods().String()
			}
		}
		return ""
	}
	// The template that creates the namespace has no pods: in a member where other tests' pods terminate meanwhile, a
	// pod's capacity stays reserved for minutes after it runs, and the namespace would seem fuller than its quota says.
	s.create(t, settings, builder.MakePolicy(ns, "settings").Select("v1", "ConfigMap", "settings").Clusters("shop-1").Obj())
	limit("shop-1", 3)
	eventually(t, func(g Gomega) { g.Expect(free(g, "shop-1")).To(Equal("3")) })

	s.create(t, template, policy)
	eventually(t, func(g Gomega) {
		g.Expect(shares(g)).To(Equal(map[string]int32{"shop-1": 3, "shop-2": 2}))
		g.Expect(s.binding(t, g, template).Spec.ReplicaRequirements.Namespace).To(Equal(ns))
		g.Expect(free(g, "shop-1")).To(Equal("0"))
		// The quota controller counts now, and again only five minutes later.
		g.Expect(integer(s.inMember(t, g, "shop-2", template), "status", "readyReplicas")).To(BeEquivalentTo(2))
	})
	limit("shop-2", 2)
	eventually(t, func(g Gomega) { g.Expect(free(g, "shop-2")).To(Equal("0")) })

	scale(6)
	reason := func(g Gomega) string {
		c := meta.FindStatusCondition(s.binding(t, g, template).Status.Conditions, workv1alpha2.BindingScheduled)
		if c == nil {
			return ""
		}
		return c.Reason
	}
	eventually(t, func(g Gomega) { g.Expect(reason(g)).To(Equal(workv1alpha2.ReasonUnschedulable)) })
	g.Consistently(func(g Gomega) {
		g.Expect(shares(g)).To(Equal(map[string]int32{"shop-1": 3, "shop-2": 2}))
	}).WithTimeout(quiet).WithPolling(poll).Should(Succeed())

	limit("shop-2", 0)
	eventually(t, func(g Gomega) {
		g.Expect(free(g, "shop-2")).To(BeEmpty())
		g.Expect(reason(g)).To(Equal(workv1alpha2.ReasonScheduledSuccess))
		g.Expect(shares(g)).To(Equal(map[string]int32{"shop-1": 3, "shop-2": 3}))
	})
}
