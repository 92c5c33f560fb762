package detector

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/detector/plan"
)

// TestForcedStrategyAppliesWithoutPolicy forces a strategy on a namespace, and removes it again, while for various reasons
// no policy is applied to the templates there. All of them are rendered as long as their bindings exist, so all must follow the strategy.
func TestForcedStrategyAppliesWithoutPolicy(t *testing.T) {
	g := NewWithT(t)
	s := start(t)
	names := []string{"classless", "waiting", "excluded", "going", "released", "needed"}
	for _, name := range names {
		s.create(t, s.policy(name, named("apps/v1", "Deployment", name)), s.deployment(name, 2))
	}
	// The kind of this template is not watched any more once its policy is gone.
	s.create(t, s.policy("unwatched", named("v1", "LimitRange", "unwatched")), limits(s.namespace, "unwatched"))
	all := []string{"unwatched-limitrange"}
	for _, name := range names {
		all = append(all, name+"-deployment")
	}
	for _, name := range all {
		s.eventually(t, name, by(plan.Strategy{}))
	}

	s.patch(t, s.policy("classless"), `{"spec":{"schedulePriority":{"priorityClassSource":"KubePriorityClass","priorityClassName":"no-such-class"}}}`)
	other := s.policy("other", named("apps/v1", "Deployment", "waiting"))
	other.Spec.Priority, other.Spec.Preemption, other.Spec.DependentOverrides = new(int32(5)), policyv1alpha1.PreemptAlways, []string{"no-such-override"}
	s.create(t, other)
	s.patch(t, s.deployment("excluded", 2), `{"metadata":{"labels":{"`+contract.ClaimedByLabel+`":"somebody"}}}`)
	going := s.deployment("going", 2)
	s.patch(t, going, `{"metadata":{"finalizers":["test.fairlead.dev/held"]}}`)
	t.Cleanup(func() {
		_ = s.client.Patch(context.WithoutCancel(t.Context()), going, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	})
	g.Expect(s.client.Delete(t.Context(), going)).To(Succeed())
	needs := func(by string) {
		b, err := s.binding(t.Context(), "needed-deployment")
		g.Expect(err).NotTo(HaveOccurred())
		s.patch(t, b, `{"spec":{"requiredBy":`+by+`}}`)
	}
	needs(`[{"namespace":"` + s.namespace + `","name":"db-deployment"}]`)
	for _, name := range []string{"released", "unwatched", "needed"} {
		g.Expect(s.client.Delete(t.Context(), s.policy(name))).To(Succeed())
	}
	for _, name := range []string{"released-deployment", "unwatched-limitrange", "needed-deployment"} {
		s.eventually(t, name, func(g Gomega, b *workv1alpha2.ResourceBinding) { g.Expect(claimed(b)).To(BeFalse()) })
	}
	g.Eventually(func() []string { return s.writes.notes(reasonApplyPolicyFailed) }, "1m", "50ms").Should(ContainElements(
		ContainSubstring("no-such-class"), ContainSubstring("no-such-override")))

	forced := &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Spec: fairleadv1alpha1.RolloutStrategySpec{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"strict": s.namespace}},
	}}
	g.Expect(s.client.Create(t.Context(), forced)).To(Succeed())
	t.Cleanup(func() { _ = s.client.Delete(context.WithoutCancel(t.Context()), forced) })
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	strict := plan.Strategy{Name: s.namespace, Forced: true}
	label := func(value string) { s.patch(t, namespace, `{"metadata":{"labels":{"strict":`+value+`}}}`) }
	say := func(want plan.Strategy) {
		for _, name := range all {
			if name != "needed-deployment" {
				s.eventually(t, name, by(want))
			}
		}
	}
	label(`"` + s.namespace + `"`)
	say(strict)
	s.settle(t)
	s.eventually(t, "needed-deployment", by(plan.Strategy{})) // it is attached to the workload that needs it
	needs("null")
	s.eventually(t, "needed-deployment", by(strict))
	label("null")
	say(plan.Strategy{})
	s.eventually(t, "needed-deployment", by(plan.Strategy{}))

	// The label is added and removed while no hub runs.
	s.stop()
	label(`"` + s.namespace + `"`)
	s.stop = s.run(t, g, s.config)
	say(strict)
	s.stop()
	label("null")
	s.run(t, g, s.config)
	say(plan.Strategy{})
}

func limits(namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "LimitRange", "metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{"limits": []any{map[string]any{"type": "Pod", "max": map[string]any{"cpu": "1"}}}},
	}}
}
