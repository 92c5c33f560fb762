package binding_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

// TestDeletedNamespaceChangesNoWork deletes an OverridePolicy together with its namespace, before the template. The object stays in
// the member when its Work is deleted, and must stay as it is.
func TestDeletedNamespaceChangesNoWork(t *testing.T) {
	s := start(t)
	g, w := NewWithT(t), s.world(t, "a", "b")
	rules := builder.MakeOverride(w.namespace, "local").Select("v1", "ConfigMap", "settings").Replace(w.member("a"), "/data/color", "red").Obj()
	g.Expect(w.hub.Create(t.Context(), rules)).To(Succeed())
	template := builder.MakeConfigMap(w.namespace, "settings", "color", "blue").Obj()
	b := w.create(t, template, "a")
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.PreserveResourcesOnDeletion = new(true) })
	color := func() any { return manifest(t, w.work(t, "a", template), "data", "color") }
	g.Eventually(func() []string { return w.works(t, "settings-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a"}))
	g.Eventually(color, stagetest.Timeout, stagetest.Poll).Should(Equal("red"), "once the stage sees the OverridePolicy")

	proceed := stagetest.Terminate(t, w.hub, b, template)
	g.Eventually(func() error { return w.hub.Get(t.Context(), client.ObjectKeyFromObject(rules), rules) }, stagetest.Timeout, stagetest.Poll).ShouldNot(Succeed())
	g.Consistently(color, stagetest.Quiet, stagetest.Poll).Should(Equal("red"))
	g.Eventually(func() string {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		if said := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingRendered); said != nil {
			return said.Reason
		}
		return ""
	}, stagetest.Timeout, stagetest.Poll).Should(Equal(workv1alpha2.ReasonNamespaceTerminating))

	// With a move, the application would be in no cluster.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = w.shares("b") })
	g.Consistently(func() []string { return w.works(t, "settings-") }, stagetest.Quiet, stagetest.Poll).Should(Equal([]string{"a"}))

	proceed()
	g.Eventually(func() string { return w.intent(t, "a", template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionRemoved))
	g.Expect(color()).To(Equal("red"))
	g.Expect(w.work(t, "a", template).Spec.PreserveResourcesOnDeletion).To(HaveValue(BeTrue()))
}
