package detector

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/test/stagetest"
)

func goesTo(cluster string) func(Gomega, *workv1alpha2.ResourceBinding) {
	return func(g Gomega, b *workv1alpha2.ResourceBinding) {
		g.Expect(b.Spec.Placement.ClusterAffinity.ClusterNames).To(ConsistOf(cluster))
	}
}

// change edits a policy whoever else is writing it.
func (s *stage) change(t *testing.T, p *policyv1alpha1.PropagationPolicy, edit func(*policyv1alpha1.PropagationSpec)) {
	t.Helper()
	stagetest.Change(t, s.client, p, func() { edit(&p.Spec) })
}

func TestPreemptingPolicyTakesTemplate(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	s.create(t, s.policy("old", named("v1", "ConfigMap", "a")), s.configMap("a"))
	s.eventually(t, "a-configmap", claimedBy("old"))

	// A higher priority alone takes nothing that is claimed.
	rival := s.policy("rival", named("v1", "ConfigMap", "a"))
	rival.Spec.Priority = ptr.To[int32](5)
	rival.Spec.Placement.ClusterAffinity.ClusterNames = []string{"edge-2"}
	s.create(t, rival)
	s.settle(t)
	s.eventually(t, "a-configmap", claimedBy("old"))

	s.change(t, rival, func(spec *policyv1alpha1.PropagationSpec) { spec.Preemption = policyv1alpha1.PreemptAlways })
	s.eventually(t, "a-configmap", claimedBy("rival"))
	s.eventually(t, "a-configmap", goesTo("edge-2"))
	g.Eventually(func() []string { return s.writes.notes(reasonPreemptPolicySucceed) }, "1m", "50ms").
		Should(ConsistOf(And(ContainSubstring("/rival) has preemption Always"), ContainSubstring("/old)"))))

	// Once the priority of the holder is below, the other may take it back.
	old := s.policy("old")
	s.change(t, old, func(spec *policyv1alpha1.PropagationSpec) {
		spec.Priority, spec.Preemption = ptr.To[int32](3), policyv1alpha1.PreemptAlways
	})
	s.settle(t)
	s.eventually(t, "a-configmap", claimedBy("rival"))
	s.change(t, rival, func(spec *policyv1alpha1.PropagationSpec) { spec.Priority = ptr.To[int32](2) })
	s.eventually(t, "a-configmap", claimedBy("old"))
	s.eventually(t, "a-configmap", goesTo("edge-1"))
}

// The claim is written before the binding. The event for the first write is emitted even if the second write must be retried.
func TestClaimIsReportedThoughBindingConflicts(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	old := s.policy("old", named("v1", "ConfigMap", "a"))
	s.create(t, old, s.configMap("a"))
	s.eventually(t, "a-configmap", claimedBy("old"))

	s.writes.conflict()
	rival := s.policy("rival", named("v1", "ConfigMap", "a"))
	rival.Spec.Priority, rival.Spec.Preemption = ptr.To[int32](5), policyv1alpha1.PreemptAlways
	s.create(t, rival)
	s.eventually(t, "a-configmap", claimedBy("rival"))
	g.Expect(s.writes.pending()).To(BeZero(), "the write of the binding failed once")
	g.Eventually(func() []string { return s.writes.notes(reasonPreemptPolicySucceed) }, "1m", "50ms").
		Should(ConsistOf(ContainSubstring("took the template from policy(" + s.namespace + "/old)")))

	s.writes.conflict()
	lazy := s.policy("lazy", named("v1", "ConfigMap", "a"))
	lazy.Spec.Priority, lazy.Spec.Preemption, lazy.Spec.ActivationPreference = ptr.To[int32](6), policyv1alpha1.PreemptAlways, policyv1alpha1.LazyActivation
	s.create(t, lazy)
	s.eventually(t, "a-configmap", claimedBy("lazy"))
	g.Expect(s.writes.pending()).To(BeZero(), "the write of the binding failed once")
	g.Eventually(func() []string { return s.writes.notes(reasonWaitForEdit) }, "1m", "50ms").
		Should(ConsistOf(ContainSubstring("with the next edit")))
	g.Expect(s.writes.notes(reasonPreemptPolicyFailed)).To(BeEmpty())
	g.Expect(s.writes.notes(reasonApplyPolicyFailed)).To(BeEmpty())
}

func TestPolicyPreemptsClusterPolicy(t *testing.T) {
	s := start(t)
	s.clusterPolicy(t, policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "ConfigMap", Namespace: s.namespace, Name: "a"}},
		Priority:          ptr.To[int32](9),
	})
	s.create(t, s.configMap("a"))
	s.eventually(t, "a-configmap", claimedBy(s.namespace))
	near := s.policy("near", named("v1", "ConfigMap", "a"))
	near.Spec.Preemption = policyv1alpha1.PreemptAlways
	s.create(t, near)
	b := s.eventually(t, "a-configmap", claimedBy("near"))
	NewWithT(t).Expect(b.Labels).NotTo(HaveKey(contract.ClusterPropagationPolicyPermanentIDLabel))
}

func TestLazyPolicyWaitsForEdit(t *testing.T) {
	for name, template := range map[string]func(*stage) (client.Object, string){
		"of a kind with a generation": func(s *stage) (client.Object, string) { return s.deployment("web", 2), "web-deployment" },
		"of a kind without":           func(s *stage) (client.Object, string) { return s.configMap("web"), "web-configmap" },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			g := NewWithT(t)
			obj, binding := template(s)
			gvk, err := s.client.GroupVersionKindFor(obj)
			g.Expect(err).NotTo(HaveOccurred())
			p := s.policy("lazy", named(gvk.GroupVersion().String(), gvk.Kind, "web"))
			s.create(t, p, obj)
			s.eventually(t, binding, claimedBy("lazy"))

			// What the policy says from now on waits.
			s.change(t, p, func(spec *policyv1alpha1.PropagationSpec) {
				spec.ActivationPreference = policyv1alpha1.LazyActivation
				spec.Placement.ClusterAffinity.ClusterNames = []string{"edge-2"}
			})
			g.Eventually(func() []string { return s.writes.notes(reasonWaitForEdit) }, "1m", "50ms").
				Should(ConsistOf(ContainSubstring("with the next edit")))
			s.settle(t)
			s.eventually(t, binding, goesTo("edge-1"))

			// Another hub that starts now waits as well.
			s.stop()
			s.run(t, g, s.config)
			s.settle(t)
			s.looksAt(t, "web")
			s.eventually(t, binding, goesTo("edge-1"))

			edit := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"edited":"yes"}}}`))
			g.Expect(s.client.Patch(t.Context(), obj, edit)).To(Succeed())
			s.eventually(t, binding, goesTo("edge-2"))

			// And the next change waits again, until the policy is lazy no more.
			s.change(t, p, func(spec *policyv1alpha1.PropagationSpec) {
				spec.Placement.ClusterAffinity.ClusterNames = []string{"edge-3"}
			})
			s.settle(t)
			s.eventually(t, binding, goesTo("edge-2"))
			s.change(t, p, func(spec *policyv1alpha1.PropagationSpec) { spec.ActivationPreference = "" })
			s.eventually(t, binding, goesTo("edge-3"))
			g.Eventually(func(g Gomega) {
				g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)).To(Succeed())
				g.Expect(obj.GetAnnotations()).NotTo(HaveKey(contract.TemplateEditAnnotation))
			}, "1m", "50ms").Should(Succeed())
		})
	}
}

func TestLazyPolicyBindsOnlyNewTemplates(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	before := s.configMap("before")
	s.create(t, before)
	// The creation of a policy in the same second does not count as later.
	g.Eventually(func() bool {
		probe := s.configMap("probe")
		probe.Name, probe.GenerateName = "", "probe-"
		s.create(t, probe)
		return before.CreationTimestamp.Before(&probe.CreationTimestamp)
	}, "1m", "50ms").Should(BeTrue())
	p := s.policy("web", named("v1", "ConfigMap", "before"), named("v1", "ConfigMap", "after"))
	p.Spec.ActivationPreference = policyv1alpha1.LazyActivation
	s.create(t, p)
	g.Eventually(func(g Gomega) {
		g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(before), before)).To(Succeed())
		c, _ := claim.On(before)
		g.Expect(c.Name).To(Equal("web"))
	}, "1m", "50ms").Should(Succeed())
	s.create(t, s.configMap("after"))
	s.eventually(t, "after-configmap", claimedBy("web"))
	s.settle(t)
	_, err := s.binding(t.Context(), "before-configmap")
	g.Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
	g.Expect(err).To(HaveOccurred(), "the lazy policy must not bind an existing template")

	before.Data["k"] = "w"
	g.Expect(s.client.Update(t.Context(), before)).To(Succeed())
	s.eventually(t, "before-configmap", claimedBy("web"))
}

func TestMissingPriorityClassIsReported(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	p := s.policy("web", named("v1", "ConfigMap", "a"))
	p.Spec.SchedulePriority = &policyv1alpha1.SchedulePriority{PriorityClassSource: policyv1alpha1.KubePriorityClass, PriorityClassName: s.namespace}
	s.create(t, p, s.configMap("a"))
	g.Eventually(func() []string { return s.writes.notes(reasonApplyPolicyFailed) }, "1m", "50ms").
		Should(ConsistOf(ContainSubstring("the hub has no PriorityClass")))
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": s.namespace}, "value": int64(42),
	}}
	s.create(t, u)
	t.Cleanup(func() { _ = s.client.Delete(context.WithoutCancel(t.Context()), u) })
	s.eventually(t, "a-configmap", func(g Gomega, b *workv1alpha2.ResourceBinding) {
		g.Expect(b.Spec.SchedulePriority).To(HaveValue(HaveField("Priority", BeEquivalentTo(42))))
	})
}
