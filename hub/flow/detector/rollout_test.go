package detector

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/detector/plan"
)

// by waits for the binding of web to go by a strategy.
func by(want plan.Strategy) func(Gomega, *workv1alpha2.ResourceBinding) {
	return func(g Gomega, b *workv1alpha2.ResourceBinding) { g.Expect(plan.StrategyOn(b)).To(Equal(want)) }
}

func TestABindingSaysItsStrategyFromTheStart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := start(t)
	p := s.policy("p", named("apps/v1", "Deployment", "web"))
	p.Annotations = map[string]string{contract.RolloutStrategyAnnotation: "careful"}
	s.create(t, p, s.deployment("web", 2))
	b := s.eventually(t, "web-deployment", by(plan.Strategy{Name: "careful"}))
	s.settle(t)
	again, err := s.binding(t.Context(), "web-deployment")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.ResourceVersion).To(Equal(b.ResourceVersion), "it was created with it, and not written again")
}

func TestTheStrategyOfABindingFollowsPolicyAndTemplate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := start(t)
	p, web := s.policy("p", named("apps/v1", "Deployment", "web")), s.deployment("web", 2)
	s.create(t, p, web)
	s.eventually(t, "web-deployment", by(plan.Strategy{}))
	annotate := func(obj client.Object, value string) {
		g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		before, ok := obj.DeepCopyObject().(client.Object)
		g.Expect(ok).To(BeTrue())
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[contract.RolloutStrategyAnnotation] = value
		obj.SetAnnotations(annotations)
		g.Expect(s.client.Patch(t.Context(), obj, client.MergeFrom(before))).To(Succeed())
	}
	annotate(p, "careful")
	s.eventually(t, "web-deployment", by(plan.Strategy{Name: "careful"}))
	annotate(web, "own")
	s.eventually(t, "web-deployment", by(plan.Strategy{Name: "own"}))
	annotate(web, contract.RolloutStrategyNone)
	s.eventually(t, "web-deployment", by(plan.Strategy{}))

	forced := &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Spec: fairleadv1alpha1.RolloutStrategySpec{
		PolicySelector: &metav1.LabelSelector{MatchLabels: map[string]string{"in": s.namespace}},
	}}
	g.Expect(s.client.Create(t.Context(), forced)).To(Succeed())
	t.Cleanup(func() { _ = s.client.Delete(context.WithoutCancel(t.Context()), forced) })
	g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
	before := p.DeepCopy()
	p.Labels["in"] = s.namespace
	g.Expect(s.client.Patch(t.Context(), p, client.MergeFrom(before))).To(Succeed())
	s.eventually(t, "web-deployment", by(plan.Strategy{Name: s.namespace, Forced: true}))

	b, err := s.binding(t.Context(), "web-deployment")
	g.Expect(err).NotTo(HaveOccurred())
	tampered := b.DeepCopy()
	delete(tampered.Annotations, contract.RolloutStrategyAnnotation)
	g.Expect(s.client.Patch(t.Context(), tampered, client.MergeFrom(b))).To(Succeed())
	s.eventually(t, "web-deployment", by(plan.Strategy{Name: s.namespace, Forced: true}))

	selecting := forced.DeepCopy()
	forced.Spec.PolicySelector = nil
	g.Expect(s.client.Patch(t.Context(), forced, client.MergeFrom(selecting))).To(Succeed())
	s.eventually(t, "web-deployment", by(plan.Strategy{}))
}

func TestAForcedStrategyThatIsGoneSetsNothingFree(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := start(t)
	forced := &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Spec: fairleadv1alpha1.RolloutStrategySpec{
		PolicySelector: &metav1.LabelSelector{MatchLabels: map[string]string{"in": s.namespace}},
	}}
	g.Expect(s.client.Create(t.Context(), forced)).To(Succeed())
	p := s.policy("p", named("apps/v1", "Deployment", "web"))
	p.Labels = map[string]string{"in": s.namespace}
	web := s.deployment("web", 2)
	s.create(t, p, web)
	was := s.eventually(t, "web-deployment", by(plan.Strategy{Name: s.namespace, Forced: true}))
	g.Expect(s.client.Delete(t.Context(), forced)).To(Succeed())
	before := web.DeepCopy()
	web.SetLabels(map[string]string{"edited": "yes"})
	g.Expect(s.client.Patch(t.Context(), web, client.MergeFrom(before))).To(Succeed())
	s.eventually(t, "web-deployment", func(g Gomega, b *workv1alpha2.ResourceBinding) {
		g.Expect(b.Annotations[contract.TemplateFingerprintAnnotation]).NotTo(Equal(was.Annotations[contract.TemplateFingerprintAnnotation]), "the edit was seen")
		g.Expect(plan.StrategyOn(b)).To(Equal(plan.Strategy{Name: s.namespace, Forced: true}))
	})
}
