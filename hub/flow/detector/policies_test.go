package detector

import (
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/detector/claim"
)

func TestPolicyReleasesTemplateNoLongerSelected(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	p := s.policy("web", named("v1", "ConfigMap", "a"), named("v1", "ConfigMap", "b"))
	template := s.configMap("a")
	s.create(t, p, template, s.configMap("b"))
	before := s.eventually(t, "a-configmap", claimedBy("web"))
	s.eventually(t, "b-configmap", claimedBy("web"))

	g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
	p.Spec.ResourceSelectors = p.Spec.ResourceSelectors[1:]
	p.Spec.Placement.ClusterAffinity.ClusterNames = []string{"edge-2"}
	g.Expect(s.client.Update(t.Context(), p)).To(Succeed())

	b := s.eventually(t, "a-configmap", claimedBy(""))
	g.Expect(b.Spec).To(Equal(before.Spec), "the spec of the binding does not change")
	g.Eventually(func(g Gomega) {
		g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
		g.Expect(claimed(template)).To(BeFalse())
	}, "1m", "50ms").Should(Succeed())
	s.eventually(t, "b-configmap", func(g Gomega, b *workv1alpha2.ResourceBinding) {
		g.Expect(b.Spec.Placement.ClusterAffinity.ClusterNames).To(ConsistOf("edge-2"))
	})

	// Another policy takes the template, with the same binding.
	s.create(t, s.policy("other", named("v1", "ConfigMap", "a")))
	after := s.eventually(t, "a-configmap", claimedBy("other"))
	g.Expect(after.UID).To(Equal(b.UID))
	g.Expect(after.Labels[contract.ResourceBindingPermanentIDLabel]).To(Equal(b.Labels[contract.ResourceBindingPermanentIDLabel]))
}

func TestDeletedPolicyLeavesBindings(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	s.clusterPolicy(t, policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: s.namespace, Name: "b"},
	}})
	p := s.policy("web", named("v1", "ConfigMap", "a"), named("v1", "ConfigMap", "b"))
	template := s.configMap("a")
	s.create(t, p, template)
	s.eventually(t, "a-configmap", claimedBy("web"))
	s.create(t, s.configMap("b"))
	s.eventually(t, "b-configmap", claimedBy("web"))

	g.Expect(s.client.Delete(t.Context(), p)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(s.client.Get(t.Context(), client.ObjectKeyFromObject(p), p))
	}, "1m", "50ms").Should(BeTrue())
	b, err := s.binding(t.Context(), "a-configmap")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(claimed(b)).To(BeFalse())
	g.Expect(b.DeletionTimestamp).To(BeNil())
	g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
	g.Expect(claimed(template)).To(BeFalse())

	b = s.eventually(t, "b-configmap", claimedBy(s.namespace))
	g.Expect(b.Labels).NotTo(HaveKey(contract.PropagationPolicyPermanentIDLabel))
	g.Expect(b.Labels).To(HaveKey(contract.ClusterPropagationPolicyPermanentIDLabel))
}

func TestPolicyWinsOverClusterPolicy(t *testing.T) {
	s := start(t)
	s.clusterPolicy(t, policyv1alpha1.PropagationSpec{
		Priority: ptr.To[int32](10),
		ResourceSelectors: []policyv1alpha1.ResourceSelector{
			{APIVersion: "v1", Kind: "ConfigMap", Namespace: s.namespace},
			{APIVersion: "v1", Kind: "Namespace", Name: s.namespace},
			{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: s.namespace},
		},
	})
	s.create(t, s.policy("web", named("v1", "ConfigMap", "a"), named("v1", "Namespace", s.namespace)), s.configMap("a"), s.configMap("b"))
	s.eventually(t, "a-configmap", claimedBy("web"))
	s.eventually(t, "b-configmap", claimedBy(s.namespace))

	g := NewWithT(t)
	g.Eventually(func(g Gomega) {
		b := &workv1alpha2.ClusterResourceBinding{}
		g.Expect(s.client.Get(t.Context(), types.NamespacedName{Name: s.namespace + "-namespace"}, b)).To(Succeed())
		g.Expect(b.Spec.Resource.Namespace).To(BeEmpty())
		g.Expect(b.Finalizers).To(ConsistOf(contract.ClusterBindingFinalizer))
		g.Expect(b.Labels).To(HaveKey(contract.ClusterResourceBindingPermanentIDLabel))
		c, _ := claim.On(b)
		g.Expect(c.Name).To(Equal(s.namespace))
	}, "1m", "50ms").Should(Succeed())
	g.Eventually(func() []string { return s.writes.notes(reasonKindNotNamespaced) }, "1m", "50ms").Should(HaveLen(1))
}

func TestFieldsWithoutEffectAreReportedOncePerGeneration(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	p := s.policy("web", named("v1", "ConfigMap", "a"))
	p.Spec.PropagateDeps = true
	p.Spec.Association = true
	s.create(t, p, s.configMap("a"))
	b := s.eventually(t, "a-configmap", claimedBy("web"))
	g.Expect(b.Spec.PropagateDeps).To(BeTrue(), "a field without effect is copied nevertheless")
	s.settle(t)
	g.Expect(s.writes.notes(reasonFieldNotSupported)).To(ConsistOf(ContainSubstring("association")))

	g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
	p.Spec.Priority = new(int32(1))
	g.Expect(s.client.Update(t.Context(), p)).To(Succeed())
	g.Eventually(func() []string { return s.writes.notes(reasonFieldNotSupported) }, "1m", "50ms").Should(HaveLen(2))
}

// TestRemarksAreEmittedOnTemplateAndPolicy runs alone, like all tests that read events, because any running stage that writes a binding emits
// them.
func TestRemarksAreEmittedOnTemplateAndPolicy(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	p := s.policy("web", named("apps/v1", "Deployment", "web"))
	p.Spec.ResourceSelectors[0].LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"other": "label"}}
	p.Spec.SchedulerName = "mine"
	p.Spec.SchedulePriority = &policyv1alpha1.SchedulePriority{PriorityClassSource: policyv1alpha1.KubePriorityClass, PriorityClassName: "system-node-critical"}
	web := s.deployment("web", 2)
	s.create(t, p, web)
	b := s.eventually(t, "web-deployment", claimedBy("web"))
	g.Expect(b.Spec.SchedulePriority.Priority).To(BeEquivalentTo(1_000_000_000), "the priority is capped below system priorities")
	said := ConsistOf(
		ContainSubstring("spec.resourceSelectors[0].labelSelector has no effect beside name"),
		ContainSubstring(`is "mine", which is not the scheduler of this hub`),
		ContainSubstring("counts as 1000000000, not as 2000001000"),
	)
	g.Eventually(func() []string { return s.writes.notes(reasonFieldWithoutEffect) }, "1m", "50ms").Should(said)
	before := web.DeepCopy()
	web.SetLabels(map[string]string{"edited": "yes"})
	g.Expect(s.client.Patch(t.Context(), web, client.MergeFrom(before))).To(Succeed())
	s.settle(t)
	g.Expect(s.writes.notes(reasonFieldWithoutEffect)).To(said, "an unrelated edit does not repeat the events")
}

func TestTemplateWaitsForDependentOverrides(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	p := s.policy("web", named("v1", "ConfigMap", "a"))
	p.Spec.DependentOverrides = []string{"later"}
	s.create(t, p, s.configMap("a"))
	g.Eventually(func() []string { return s.writes.notes(reasonApplyPolicyFailed) }, "1m", "50ms").
		Should(ConsistOf(ContainSubstring(`create OverridePolicy "later"`)))
	_, err := s.binding(t.Context(), "a-configmap")
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())

	s.create(t, &policyv1alpha1.OverridePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "later"},
		Spec:       policyv1alpha1.OverrideSpec{OverrideRules: []policyv1alpha1.RuleWithCluster{}},
	})
	s.eventually(t, "a-configmap", claimedBy("web"))
}

func TestDeletedPolicyReleasesExcludedTemplates(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	template := s.configMap("a")
	p := s.policy("web", named("v1", "ConfigMap", "a"))
	s.create(t, p, template)
	s.eventually(t, "a-configmap", claimedBy("web"))
	g.Expect(s.client.Patch(t.Context(), template, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"`+contract.ClaimedByLabel+`":"another-controller"}}}`)))).To(Succeed())
	// A binding that somebody created by hand does not block it either.
	stray := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "stray"}}
	stray.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: s.namespace, Name: "b"}
	g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
	claim.Set(stray, claim.By(p))
	s.create(t, stray)

	g.Expect(s.client.Delete(t.Context(), p)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(s.client.Get(t.Context(), client.ObjectKeyFromObject(p), p))
	}, "1m", "50ms").Should(BeTrue(), "the policy is deleted once it has no claims")
	g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
	g.Expect(claimed(template)).To(BeFalse())
}
