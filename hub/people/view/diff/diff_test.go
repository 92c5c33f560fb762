package diff

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

func TestObjects(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	text, err := Objects("a", "b", map[string]any{"x": 1}, map[string]any{"x": 2})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(Equal("--- a\n+++ b\n@@ -1 +1 @@\n-x: 1\n+x: 2\n"))
	g.Expect(Objects("a", "b", map[string]any{"x": 1}, map[string]any{"x": 1})).To(BeEmpty())
	_, err = Objects("a", "b", func() {}, nil)
	g.Expect(err).To(MatchError(ContainSubstring("encoding a")))
}

func TestContentOfAWork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	work := func(cluster, image string) *workv1alpha1.Work {
		w := &workv1alpha1.Work{Spec: workv1alpha1.WorkSpec{SuspendDispatching: new(true)}}
		w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(
			`{"kind":"Pod","metadata":{"name":"p","labels":{"app":"p","work.karmada.io/permanent-id":"` + cluster + `"},` +
				`"annotations":{"work.karmada.io/namespace":"karmada-es-` + cluster + `"}},"spec":{"image":"` + image + `"}}`,
		)}}}
		return w
	}
	a, err := ContentOf(work("a", "one"), Mask{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Suspended).To(BeTrue())
	b, err := ContentOf(work("b", "one"), Mask{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Objects("a", "b", a, b)).NotTo(BeEmpty(), "the marks differ")
	g.Expect(Objects("a", "b", a.Unmarked(), b.Unmarked())).To(BeEmpty())
	g.Expect(a.Manifests[0]["metadata"]).To(HaveKeyWithValue("labels", HaveLen(2)), "nothing is changed")

	other, err := ContentOf(work("b", "two"), Mask{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Objects("a", "b", a.Unmarked(), other.Unmarked())).To(ContainSubstring("-    image: one\n+    image: two\n"))

	bad := work("a", "one")
	bad.Spec.Workload.Manifests[0].Raw = []byte("no")
	_, err = ContentOf(bad, Mask{})
	g.Expect(err).To(MatchError(ContainSubstring("reading manifest 0 of Work")))
}
