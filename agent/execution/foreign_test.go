package execution_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

func TestAnObjectThatIsNotOursIsRefusedUnlessItMayBeOverwritten(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	w.watches(t, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "watched", "namespace": w.member},
	}})
	theirs := w.configMap("settings", map[string]string{"a": "theirs", "b": "theirs"})
	g.Expect(w.client.Create(t.Context(), theirs.DeepCopy())).To(Succeed())

	manifest := w.configMap("settings", map[string]string{"a": "ours"})
	work := w.work(t, "settings", manifest)
	g.Expect(w.isNotApplied(t, work)).To(And(
		HavePrefix("Failed to apply all manifests (0/1): ConfigMap "+w.member+"/settings: "),
		ContainSubstring("already exists in the member and is not managed")))
	g.Expect(w.get(g, "settings").Data).To(Equal(theirs.Data))
	// The agent first tried to create the object and then read it; later tries begin with the read.
	asked := w.requests.about("/configmaps/settings")
	g.Expect(len(asked)).To(BeNumerically(">=", 2))
	g.Expect(asked[:2]).To(Equal([]string{
		"PATCH /api/v1/namespaces/" + w.member + "/configmaps/settings",
		"GET /api/v1/namespaces/" + w.member + "/configmaps/settings",
	}))
	g.Expect(w.requests.about("PATCH /api/v1/namespaces/" + w.member + "/configmaps/settings")).To(HaveLen(1))

	manifest.Annotations = map[string]string{contract.ConflictResolutionAnnotation: contract.ConflictOverwrite}
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests = raw(t, manifest) })
	w.isApplied(t, work)
	g.Expect(w.get(g, "settings").Data).To(Equal(map[string]string{"a": "ours", "b": "theirs"}))
}

func TestAnObjectOfAnotherWorkIsNeverTaken(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	first := w.work(t, "first", w.configMap("settings", map[string]string{"a": "first"}))
	w.isApplied(t, first)
	manifest := w.configMap("settings", map[string]string{"a": "second"})
	manifest.Annotations = map[string]string{contract.ConflictResolutionAnnotation: contract.ConflictOverwrite}
	second := w.work(t, "second", manifest)
	g.Expect(w.isNotApplied(t, second)).To(ContainSubstring("belongs to Work " + w.works + "/first"))
	g.Expect(w.get(g, "settings").Data).To(Equal(map[string]string{"a": "first"}))

	// Deleting the Work does not touch an object of another owner either.
	g.Expect(w.client.Delete(t.Context(), second)).To(Succeed())
	w.isGone(t, second)
	g.Expect(w.get(g, "settings").Data).To(Equal(map[string]string{"a": "first"}))
}
