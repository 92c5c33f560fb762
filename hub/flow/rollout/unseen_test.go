package rollout

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/test/stagetest"
)

// TestAnEditGoesByTheStrategyThatCameWithIt has an edit come together with another strategy while no hub runs. The next hub finds the edit,
// with the old strategy on the binding, before its detector has seen either.
func TestAnEditGoesByTheStrategyThatCameWithIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running(t, 2, canaryThenRest())
	w.stopHub()
	w.change(func(b *workv1alpha2.ResourceBinding) {
		b.Labels[contract.PropagationPolicyPermanentIDLabel] = "p"
		b.Annotations[contract.TemplateFingerprintAnnotation] = bindings.MadeOf(w.template, "")
	})
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(w.template), w.template)).To(Succeed())
	g.Expect(unstructured.SetNestedSlice(w.template.Object, []any{map[string]any{"name": "web", "image": "nginx:2"}}, "spec", "template", "spec", "containers")).To(Succeed())
	g.Expect(w.client.Update(t.Context(), w.template)).To(Succeed())
	strict := &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{Name: w.strategy + "-strict"}, Spec: canaryThenRest()}
	strict.Spec.Waves[0].Approval = fairleadv1alpha1.ApprovalBefore
	g.Expect(w.client.Create(t.Context(), strict)).To(Succeed())

	w.seen = edits.NewSeen(clock.RealClock{})
	w.startHub()
	first := func() int64 { return w.rollout(g).Status.Revision }
	g.Consistently(first, stagetest.Quiet, stagetest.Poll).Should(BeEquivalentTo(1), "the detector has not looked")
	before := w.template.DeepCopy()
	before.SetGeneration(before.GetGeneration() - 1)
	w.seen.Plan(w.key(), w.strategy)
	w.seen.See(w.binding(g), bindings.Fingerprint(before))
	g.Consistently(first, stagetest.Quiet, stagetest.Poll).Should(BeEquivalentTo(1), "it has not seen the edit")

	w.seen.Plan(w.key(), strict.Name)
	w.change(func(b *workv1alpha2.ResourceBinding) { b.Annotations[contract.RolloutStrategyAnnotation] = strict.Name })
	w.seen.See(w.binding(g), bindings.Fingerprint(w.template))
	eventually(t, func(g Gomega) { g.Expect(w.rollout(g).Status.Revision).To(BeEquivalentTo(2)) })
	g.Expect(w.secret(g, 2).Strategy).To(Equal(strict.Name))
	eventually(t, func(g Gomega) {
		g.Expect(w.rollout(g).Status.Phase).To(Equal(fairleadv1alpha1.RolloutWaiting))
		g.Expect(w.have(g)).To(Equal([]int64{1, 1}))
	})
}
