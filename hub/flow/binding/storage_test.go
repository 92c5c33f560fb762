package binding_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

// TestNamespaceStorageIsLimited checks that a namespace cannot use more than its part of the database, that the message names it,
// and that other namespaces are not affected.
func TestNamespaceStorageIsLimited(t *testing.T) {
	s := startBounded(t, 1<<20)
	g, w, other := NewWithT(t), s.world(t, "a", "b", "c"), s.world(t, "a")
	filled := func(kib int) string { return strings.Repeat("x", kib<<10) }
	large := builder.MakeConfigMap(w.namespace, "large", "data", filled(400)).Obj()
	of := w.create(t, large, "a", "b", "c")
	shown := func(data string) { // as the detector does
		change(t, w, large, func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"data": data} })
		change(t, w, of, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = large.GetResourceVersion() })
	}
	const refused = "Delete objects that nobody needs, send them to fewer clusters, or ask for a larger --namespace-storage of `hub serve`."
	g.Eventually(func() []string { return w.told("large") }, stagetest.Timeout, stagetest.Poll).Should(ContainElement(And(
		HavePrefix("Warning SyncWorkFailed: "), ContainSubstring("the Works of namespace %q for all clusters may take 1Mi of the hub's database", w.namespace), ContainSubstring(refused),
	)))
	g.Expect(w.works(t, "large-")).To(HaveLen(2), "there is room for two of three Works")

	elsewhere := builder.MakeConfigMap(other.namespace, "large", "data", filled(400)).Obj()
	other.create(t, elsewhere, "a")
	g.Eventually(func() []string { return other.works(t, "large-") }, stagetest.Timeout, stagetest.Poll).Should(HaveLen(1), "another namespace has its own limit")
	small := builder.MakeConfigMap(w.namespace, "small", "data", "x").Obj()
	w.create(t, small, "a", "b", "c")
	g.Eventually(func() []string { return w.works(t, "small-") }, stagetest.Timeout, stagetest.Poll).Should(HaveLen(3), "Works that fit are written")

	// A Work that becomes smaller is written although there is no room, and makes room for those that wait.
	shown(filled(200))
	g.Eventually(func() []string { return w.works(t, "large-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b", "c"}))
	size := func(member string) func() int {
		return func() int { return len(w.work(t, member, large).Spec.Workload.Manifests[0].Raw) }
	}
	for _, member := range []string{"a", "b", "c"} {
		g.Eventually(size(member), stagetest.Timeout, stagetest.Poll).Should(BeNumerically("<", 210<<10))
	}

	// A Work that would become too large stays as it is, and a deleted one makes room for it.
	also := builder.MakeConfigMap(w.namespace, "also", "data", filled(190)).Obj()
	b := w.create(t, also, "a", "b")
	g.Eventually(func() []string { return w.works(t, "also-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b"}))
	shown(filled(300))
	g.Eventually(func() []string { return w.told("large") }, stagetest.Timeout, stagetest.Poll).Should(ContainElement(ContainSubstring("this Work would exceed that by 92Ki")))
	// A move is written although there is no room, since the old copy counts until the new one runs.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = w.shares("a", "c") })
	g.Eventually(func() []string { return w.works(t, "also-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b going", "c"}))

	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	for _, member := range []string{"a", "b", "c"} {
		w.release(t, w.work(t, member, also))
	}
	for _, member := range []string{"a", "b", "c"} {
		g.Eventually(size(member), stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 300<<10))
	}
}
