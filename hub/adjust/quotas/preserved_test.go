package quotas_test

import (
	"testing"

	. "github.com/onsi/gomega"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// TestAQuotaSaysWhatPoliciesLeaveBehindUncounted has policies preserve that admission let pass, before the stage starts and later.
func TestAQuotaSaysWhatPoliciesLeaveBehindUncounted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := start(t)
	w.end()
	policy := func(name string) *builder.Policy {
		return builder.MakePolicy(w.quota.Namespace, name).Select("apps/v1", "Deployment", "web")
	}
	w.quota.Spec.Overall = list("cpu", "4")
	before := policy("before").Preserve().Obj()
	for _, p := range []*policyv1alpha1.PropagationPolicy{before, policy("plain").Obj()} {
		g.Expect(w.hub.Create(t.Context(), p)).To(Succeed())
	}
	g.Expect(w.hub.Create(t.Context(), w.quota)).To(Succeed())
	w.run(t, cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config)
	told := func() []string { return w.told("PreservedNotCounted") }
	g.Eventually(told, stagetest.Timeout, stagetest.Poll).Should(ConsistOf(And(
		ContainSubstring("PropagationPolicy before sets spec.preserveResourcesOnDeletion"),
		ContainSubstring("kubectl edit propagationpolicy -n "+w.quota.Namespace+" before"))))

	later := policy("later").Preserve().Obj()
	g.Expect(w.hub.Create(t.Context(), later)).To(Succeed())
	g.Eventually(told, stagetest.Timeout, stagetest.Poll).Should(HaveLen(2))
	g.Expect(told()[1]).To(ContainSubstring("before, later"))
	g.Expect(w.hub.Delete(t.Context(), before)).To(Succeed())
	g.Eventually(told, stagetest.Timeout, stagetest.Poll).Should(HaveLen(3))
	stagetest.Change(t, w.hub, later, func() { later.Spec.PreserveResourcesOnDeletion = nil })
	g.Consistently(told, stagetest.Quiet, stagetest.Poll).Should(HaveLen(3), "nothing is left to say")
}
