package detector

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/detector/plan"
)

// TestATenantKeepsNothingFromTheStrategyOfTheirNamespace has a strategy forced on a namespace in which, one way or the other, no policy is
// applied to what runs there. All of it is rendered as long as its binding is there.
func TestATenantKeepsNothingFromTheStrategyOfTheirNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := start(t)
	merge := func(obj client.Object, patch string) {
		g.Expect(s.client.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
	}
	names := []string{"classless", "waiting", "excluded", "going", "released"}
	for _, name := range names {
		s.create(t, s.policy(name, named("apps/v1", "Deployment", name)), s.deployment(name, 2))
	}
	// Nobody watches the kind of this one once its policy is gone.
	s.create(t, s.policy("unwatched", named("v1", "ConfigMap", "unwatched")), s.configMap("unwatched"))
	bindings := []string{"unwatched-configmap"}
	for _, name := range names {
		bindings = append(bindings, name+"-deployment")
	}
	for _, name := range bindings {
		s.eventually(t, name, by(plan.Strategy{}))
	}

	merge(s.policy("classless"), `{"spec":{"schedulePriority":{"priorityClassSource":"KubePriorityClass","priorityClassName":"no-such-class"}}}`)
	other := s.policy("other", named("apps/v1", "Deployment", "waiting"))
	other.Spec.Priority, other.Spec.Preemption, other.Spec.DependentOverrides = new(int32(5)), policyv1alpha1.PreemptAlways, []string{"no-such-override"}
	s.create(t, other)
	merge(s.deployment("excluded", 2), `{"metadata":{"labels":{"`+contract.ClaimedByLabel+`":"somebody"}}}`)
	going := s.deployment("going", 2)
	merge(going, `{"metadata":{"finalizers":["test.fairlead.dev/held"]}}`)
	t.Cleanup(func() {
		_ = s.client.Patch(context.WithoutCancel(t.Context()), going, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	})
	g.Expect(s.client.Delete(t.Context(), going)).To(Succeed())
	for _, name := range []string{"released", "unwatched"} {
		g.Expect(s.client.Delete(t.Context(), s.policy(name))).To(Succeed())
	}
	for _, name := range []string{"released-deployment", "unwatched-configmap"} {
		s.eventually(t, name, func(g Gomega, b *workv1alpha2.ResourceBinding) { g.Expect(claimed(b)).To(BeFalse()) })
	}
	g.Eventually(func() []string { return s.writes.notes(reasonApplyPolicyFailed) }, "1m", "50ms").Should(ContainElements(
		ContainSubstring("no-such-class"), ContainSubstring("no-such-override")))

	forced := &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Spec: fairleadv1alpha1.RolloutStrategySpec{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": s.namespace}},
	}}
	g.Expect(s.client.Create(t.Context(), forced)).To(Succeed())
	t.Cleanup(func() { _ = s.client.Delete(context.WithoutCancel(t.Context()), forced) })
	for _, name := range bindings {
		s.eventually(t, name, by(plan.Strategy{Name: s.namespace, Forced: true}))
	}
}
