package dependencies_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/stagetest"
)

// TestDependenciesStayIfBindingIsOnlyMissing removes the binding of a workload while no hub runs, as in a hub that is restored
// object by object, and creates it again.
func TestDependenciesStayIfBindingIsOnlyMissing(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.create(t, w.configMap("settings"), w.configMap("more"))
	_, b := w.deployment(t, "web", "settings", "more")
	settings, more := w.attached(t, w.namespace, "settings-configmap"), w.attached(t, w.namespace, "more-configmap")
	g.Eventually(settings, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	g.Eventually(more, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	before := w.attachedBinding(t, "settings-configmap")
	w.end()
	lost := b.DeepCopy()
	lost.ResourceVersion, lost.UID = "", ""
	g.Expect(w.hub.Patch(t.Context(), b, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())

	read := w.behind(t, "/namespaces/"+w.namespace+"/resourcebindings/"+b.Name, func(*cache.Options) {})
	g.Eventually(read.Load, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 0), "the missing binding is read live")
	g.Consistently(settings, stagetest.Quiet, stagetest.Poll).Should(HaveKey("web-deployment"))
	after := w.attachedBinding(t, "settings-configmap")
	g.Expect(after.UID).To(Equal(before.UID))
	g.Expect(after.DeletionTimestamp).To(BeNil())

	// It is created again, and then deleted like any other, except that somebody removes its finalizer.
	w.create(t, lost)
	g.Eventually(func() []string {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(lost), lost)).To(Succeed())
		return lost.Finalizers
	}, stagetest.Timeout, stagetest.Poll).ShouldNot(BeEmpty())
	change(t, w, lost, func(b *workv1alpha2.ResourceBinding) { b.Finalizers = nil })
	g.Expect(w.hub.Delete(t.Context(), lost)).To(Succeed())
	g.Eventually(settings, stagetest.Timeout, stagetest.Poll).Should(BeNil())
	g.Eventually(more, stagetest.Timeout, stagetest.Poll).Should(BeNil())
}
