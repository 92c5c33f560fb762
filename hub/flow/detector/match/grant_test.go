package match

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

// TestGrantStaysWithClusterPolicy covers tenants who may write policies in a namespace, but not its quotas and roles.
func TestGrantStaysWithClusterPolicy(t *testing.T) {
	t.Parallel()
	for kind, apiVersion := range map[string]string{
		"ResourceQuota": "v1", "LimitRange": "v1", "Role": "rbac.authorization.k8s.io/v1", "RoleBinding": "rbac.authorization.k8s.io/v1",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			grant := selector.Target{APIVersion: apiVersion, Kind: kind, Namespace: "shop", Name: "limits"}
			all := policyv1alpha1.ResourceSelector{APIVersion: apiVersion, Kind: kind}
			tenant, admin := policy("tenant", ptr.To[int32](9), all), &policyv1alpha1.ClusterPropagationPolicy{}
			tenant.Spec.Preemption = policyv1alpha1.PreemptAlways
			admin.Name, admin.Spec.ResourceSelectors = "admin", []policyv1alpha1.ResourceSelector{all}
			policies := []policyv1alpha1.Policy{tenant, admin}

			winner, victim := Policy(nil, policies, grant)
			g.Expect(winner).To(BeIdenticalTo(admin), "an unclaimed grant goes to the cluster policy")
			g.Expect(victim).To(BeNil())
			winner, victim = Policy(admin, policies, grant)
			g.Expect(winner).To(BeIdenticalTo(admin), "the tenant's policy must not preempt")
			g.Expect(victim).To(BeNil())
			g.Expect(WhyNot(tenant, admin, true, grant)).To(Equal(Grant))

			winner, _ = Policy(tenant, policies, grant)
			g.Expect(winner).To(BeIdenticalTo(tenant), "the tenant's policy keeps a grant that it had first")
			g.Expect(WhyNot(admin, tenant, true, grant)).To(Equal(NoPreemption))
			admin.Spec.Preemption = policyv1alpha1.PreemptAlways
			winner, victim = Policy(tenant, policies, grant)
			g.Expect(winner).To(BeIdenticalTo(admin), "the cluster policy preempts")
			g.Expect(victim).To(BeIdenticalTo(tenant))
			winner, _ = Policy(winner, policies, grant)
			g.Expect(winner).To(BeIdenticalTo(admin), "the result is stable")

			winner, _ = Policy(nil, []policyv1alpha1.Policy{tenant}, grant)
			g.Expect(winner).To(BeIdenticalTo(tenant), "the tenant's policy gets it if there is no cluster policy")
		})
	}
}
