package plan_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/agent/execution/plan"
)

func TestARecordDescribesAnObjectWhateverItsStatus(t *testing.T) {
	t.Parallel()
	for name, manifest := range map[string]string{"without generations": settings, "with generations": web} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			m := parse(t, manifest)
			record := plan.NewRecord(m.Digest, live(m), noon)
			g.Expect(record.Describes(live(m))).To(BeTrue())
			g.Expect(record.Describes(live(m, at("200"), with("phase", "x", "status")))).To(BeTrue())
			g.Expect(record.Describes(live(m, with("theirs", "yes", "metadata", "labels")))).To(BeFalse())
			g.Expect(record.Describes(live(m, with("theirs", "yes", "metadata", "annotations")))).To(BeFalse())
			g.Expect(record.Describes(live(m, func(o *unstructured.Unstructured) { o.SetUID("uid-2") }))).To(BeFalse())
		})
	}
}

// TestARecordDescribesAnObjectWhateverKubectlNotesOnIt covers kubectl's last-applied annotation, which the cache of
// the member's objects drops and the member's responses contain.
func TestARecordDescribesAnObjectWhateverKubectlNotesOnIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := parse(t, settings)
	noted := live(m, with(corev1.LastAppliedConfigAnnotation, "{}", "metadata", "annotations"))
	g.Expect(plan.NewRecord(m.Digest, noted, noon).Describes(live(m))).To(BeTrue())
	g.Expect(plan.NewRecord(m.Digest, live(m), noon).Describes(noted)).To(BeTrue())
	g.Expect(noted.GetAnnotations()).To(HaveKey(corev1.LastAppliedConfigAnnotation), "the object is as it was")
}

// A template that was written with kubectl apply must not be sent at every look.
func TestTheAnnotationOfKubectlIsNoDrift(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := parse(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"shop",
		"annotations":{"`+corev1.LastAppliedConfigAnnotation+`":"{}"}}}`)
	g.Expect(m.Desired.GetAnnotations()).NotTo(HaveKey(corev1.LastAppliedConfigAnnotation))
	record := plan.NewRecord(m.Digest, live(m), noon)
	g.Expect(plan.Decide(self, m, plan.Found(live(m)), &record).Action).To(Equal(plan.Skip))
}

func TestContentOfAKindWithoutGenerationsIsAllButMetadataAndStatus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := parse(t, settings)
	g.Expect(plan.Content(live(m, with("a", "2", "data")))).NotTo(Equal(plan.Content(live(m))))
	g.Expect(plan.Content(live(m, with("immutable", "true")))).NotTo(Equal(plan.Content(live(m))))
	g.Expect(plan.Content(live(m, with("x", "y", "status")))).To(Equal(plan.Content(live(m))))
	g.Expect(plan.Content(live(m, unmarked))).To(Equal(plan.Content(live(m))))
}
