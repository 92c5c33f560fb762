package cli

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/detector/plan"
	"fairlead.dev/test/builder"
)

// notApplied explains policies that are not applied once their events have expired, after an hour: explain finds the
// reason itself.
func (l *lookout) notApplied(t *testing.T) {
	t.Helper()
	g, c, create := NewWithT(t), l.c, l.create
	const ns = "not-applied"
	create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	// policy returns a policy that the hub has seen, for the Deployment of the same name.
	policy := func(name string, change func(*policyv1alpha1.PropagationSpec)) client.Object {
		p := builder.MakePolicy(ns, name).Select("apps/v1", "Deployment", name).Obj()
		p.Labels = map[string]string{contract.PropagationPolicyPermanentIDLabel: name}
		change(&p.Spec)
		return p
	}
	keep := func(*policyv1alpha1.PropagationSpec) {}
	prioritized := func(s *policyv1alpha1.PropagationSpec) {
		s.SchedulePriority = &policyv1alpha1.SchedulePriority{PriorityClassSource: policyv1alpha1.KubePriorityClass, PriorityClassName: "none-such"}
	}
	templates := map[string]*unstructured.Unstructured{}
	for _, name := range []string{"waiting", "unranked", "taken", "leaving", "lazy", "well", "another"} {
		templates[name] = builder.MakeDeployment(ns, name).Obj()
		create(templates[name])
	}
	// binding returns a binding of this name that belongs to another template.
	binding := func(name, of string) *workv1alpha2.ResourceBinding {
		b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: contract.BindingName("Deployment", name), Finalizers: []string{"example.com/held"}}}
		uid := templates[of].GetUID()
		b.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: of, UID: uid, Controller: new(true)}}
		b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: ns, Name: of, UID: uid}
		return b
	}
	create(
		policy("waiting", func(s *policyv1alpha1.PropagationSpec) { s.DependentOverrides = []string{"absent"} }),
		policy("unranked", prioritized), policy("taken", keep), binding("taken", "another"), policy("well", keep), policy("leaving", keep),
		policy("lazy", func(s *policyv1alpha1.PropagationSpec) { s.ActivationPreference = policyv1alpha1.LazyActivation }),
	)
	// The hub has recorded this version of the template after the lazy policy was created.
	seen, err := plan.Edit(templates["lazy"])
	g.Expect(err).NotTo(HaveOccurred())
	templates["lazy"].SetAnnotations(map[string]string{contract.TemplateEditAnnotation: seen})
	g.Expect(c.Update(t.Context(), templates["lazy"])).To(Succeed())
	leaving := binding("leaving", "leaving")
	create(leaving)
	g.Expect(c.Delete(t.Context(), leaving)).To(Succeed())
	explained := func(args ...string) string {
		t.Helper()
		out, _ := l.run(ExitDone, append([]string{"explain", "-n", ns}, args...)...)
		return out
	}
	for name, want := range map[string]string{
		"waiting":  `Next: PropagationPolicy not-applied/waiting is not applied: waiting for dependent overrides: create OverridePolicy "absent", or remove it from dependentOverrides of the policy.`,
		"unranked": `Next: PropagationPolicy not-applied/unranked is not applied: the hub has no PriorityClass "none-such": create it, or correct spec.schedulePriority of the policy.`,
		"taken":    `Next: PropagationPolicy not-applied/taken is not applied: the binding belongs to another object: "taken-deployment" is the binding of apps/v1 Deployment "another" with uid`,
		"leaving":  `Next: PropagationPolicy not-applied/leaving is not applied: the earlier binding "leaving-deployment" is still being removed; a finalizer of somebody else may hold it.`,
		"lazy":     "Next: PropagationPolicy not-applied/lazy is not applied: it is lazy: it takes effect with the next edit of the object.",
		"well":     "Next: The hub has not created a binding yet.",
	} {
		text := explained("deployment/" + name)
		g.Expect(text).To(ContainSubstring(want), name)
		if name != "well" {
			g.Expect(text).To(MatchRegexp("pp not-applied/"+name+" .* it should have the template, but is not applied"), name)
		}
	}
	g.Expect(explained("deployment/waiting", "-o", "json")).To(ContainSubstring(`"notApplied": "PropagationPolicy not-applied/waiting is not applied`))

	// A customization whose script fails.
	g.Expect(c.Create(t.Context(), &configv1alpha1.ResourceInterpreterCustomization{
		ObjectMeta: metav1.ObjectMeta{Name: "not-applied"},
		Spec: configv1alpha1.ResourceInterpreterCustomizationSpec{
			Target: configv1alpha1.CustomizationTarget{APIVersion: "batch/v1", Kind: "CronJob"},
			Customizations: configv1alpha1.CustomizationRules{ReplicaResource: &configv1alpha1.LuaRule{
				LuaScript: `function GetReplicas(obj) error("no idea") end`,
			}},
		},
	})).To(Succeed())
	nightly := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "CronJob", "metadata": map[string]any{"namespace": ns, "name": "nightly"},
		"spec": map[string]any{"schedule": "0 0 * * *", "jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "c", "image": "c"}},
		}}}}},
	}}
	broken := builder.MakePolicy(ns, "nightly").Select("batch/v1", "CronJob", "nightly").Obj()
	broken.Labels = map[string]string{contract.PropagationPolicyPermanentIDLabel: "nightly"}
	create(nightly, broken)
	g.Expect(explained("cronjob/nightly")).To(And(ContainSubstring("Next: PropagationPolicy not-applied/nightly is not applied: reading what CronJob"), ContainSubstring("no idea"),
		ContainSubstring("correct the ResourceInterpreterCustomization of the kind, or the object.")))

	// A what-if reports the same reasons and predicts no placement; for a lazy policy it says when that takes effect.
	file := filepath.Join(t.TempDir(), "policy.yaml")
	g.Expect(os.WriteFile(file, []byte(`{"apiVersion":"policy.karmada.io/v1alpha1","kind":"PropagationPolicy","metadata":{"name":"well"},
		"spec":{"resourceSelectors":[{"apiVersion":"apps/v1","kind":"Deployment","name":"well"}],"dependentOverrides":["absent"]}}`), 0o600)).To(Succeed())
	g.Expect(explained("--what-if", "-f", file)).To(And(ContainSubstring(`create OverridePolicy "absent"`), Not(ContainSubstring("It would go to"))))
}
