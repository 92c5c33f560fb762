package status

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// An agent that starts anew without the rights has seen nothing of what it reports.
func TestAnObjectThatWasNeverSeenIsUnknown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := work()
	r, hub := newReporter(t, interceptor.Funcs{}, w)
	r.Report(w, applied(), []workv1alpha1.ResourceIdentifier{id(0, "a")}, make([]*unstructured.Unstructured, 1))
	r.Unseen(self, id(0, "a"))
	g.Expect(r.write(t.Context(), self)).To(Succeed())
	got := &workv1alpha1.Work{}
	g.Expect(hub.Get(t.Context(), self, got)).To(Succeed())
	g.Expect(got.Status.ManifestStatuses).To(ConsistOf(workv1alpha1.ManifestStatus{Identifier: id(0, "a"), Health: workv1alpha1.Unknown}))
}

// What the agent saw of an object before its rights were taken away may be of any age.
func TestAnObjectThatCannotBeSeenIsUnknown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := work()
	r, hub := newReporter(t, interceptor.Funcs{}, w)
	r.interpreter = reflecting{status: func() []byte { return []byte(`{"replicas":3}`) }}
	told := func() workv1alpha1.ManifestStatus {
		g.Expect(r.write(t.Context(), self)).To(Succeed())
		got := &workv1alpha1.Work{}
		g.Expect(hub.Get(t.Context(), self, got)).To(Succeed())
		g.Expect(got.Status.ManifestStatuses).To(HaveLen(1))
		return got.Status.ManifestStatuses[0]
	}
	ids := []workv1alpha1.ResourceIdentifier{id(0, "a")}
	r.Report(w, applied(), ids, []*unstructured.Unstructured{object("a", "1")})
	g.Expect(told().Status.Raw).To(MatchJSON(`{"replicas":3}`))

	r.Report(w, applied(), ids, make([]*unstructured.Unstructured, 1))
	r.Unseen(self, id(0, "a"))
	g.Expect(told()).To(Equal(workv1alpha1.ManifestStatus{Identifier: id(0, "a"), Health: workv1alpha1.Unknown}))
	r.Reinterpret(func(schema.GroupVersionKind) bool { return true })
	r.Unseen(self, id(0, "a"))
	g.Expect(told().Health).To(Equal(workv1alpha1.Unknown), "it is not judged by what it was")

	r.Report(w, applied(), ids, []*unstructured.Unstructured{object("a", "1")})
	g.Expect(told().Status.Raw).To(MatchJSON(`{"replicas":3}`), "it is seen again as it was")
}
