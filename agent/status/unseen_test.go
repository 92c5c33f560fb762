package status

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// TestAnObjectThatWasNeverSeenIsUnknown covers an agent that restarted without the rights to read the objects that it
// reports.
func TestAnObjectThatWasNeverSeenIsUnknown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := work()
	r, hub := newReporter(t, interceptor.Funcs{}, w)
	r.Report(w, applied(), []workv1alpha1.ResourceIdentifier{id(0, "a")}, make([]*unstructured.Unstructured, 1), nil)
	r.Unseen(self, id(0, "a"))
	g.Expect(r.write(t.Context(), self)).To(Succeed())
	got := &workv1alpha1.Work{}
	g.Expect(hub.Get(t.Context(), self, got)).To(Succeed())
	g.Expect(got.Status.ManifestStatuses).To(ConsistOf(workv1alpha1.ManifestStatus{Identifier: id(0, "a"), Health: workv1alpha1.Unknown}))
}

// TestAnObjectThatCannotBeSeenIsUnknown checks that state seen before the rights were withdrawn does not count: it
// may be of any age.
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
	r.Report(w, applied(), ids, []*unstructured.Unstructured{object("a", "1")}, nil)
	g.Expect(told().Status.Raw).To(MatchJSON(`{"replicas":3}`))

	r.Report(w, applied(), ids, make([]*unstructured.Unstructured, 1), nil)
	r.Unseen(self, id(0, "a"))
	g.Expect(told()).To(Equal(workv1alpha1.ManifestStatus{Identifier: id(0, "a"), Health: workv1alpha1.Unknown}))
	r.Reinterpret(func(schema.GroupVersionKind) bool { return true })
	r.Unseen(self, id(0, "a"))
	g.Expect(told().Health).To(Equal(workv1alpha1.Unknown), "it is not judged by what it was")

	r.Report(w, applied(), ids, []*unstructured.Unstructured{object("a", "1")}, nil)
	g.Expect(told().Status.Raw).To(MatchJSON(`{"replicas":3}`), "it is seen again as it was")
}

// An agent that starts anew knows nothing of an object of which the member says nothing, and what the hub was told of it stays.
func TestTheReportOfAnObjectStaysWhileTheMemberIsSilent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := work()
	w.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{
		{Identifier: id(0, "a"), Health: workv1alpha1.Healthy, Status: &runtime.RawExtension{Raw: []byte(`{"replicas":3}`)}},
		{Identifier: id(1, "b"), Health: workv1alpha1.Healthy},
	}
	r, hub := newReporter(t, interceptor.Funcs{}, w)
	told := func() map[string]workv1alpha1.ResourceHealth {
		g.Expect(r.write(t.Context(), self)).To(Succeed())
		got := &workv1alpha1.Work{}
		g.Expect(hub.Get(t.Context(), self, got)).To(Succeed())
		out := map[string]workv1alpha1.ResourceHealth{}
		for _, one := range got.Status.ManifestStatuses {
			out[one.Identifier.Name] = one.Health
		}
		return out
	}
	both, none := []workv1alpha1.ResourceIdentifier{id(0, "a"), id(1, "b")}, make([]*unstructured.Unstructured, 2)
	r.Report(w, applied(), both, none, []bool{true, false})
	g.Expect(told()).To(Equal(map[string]workv1alpha1.ResourceHealth{"a": workv1alpha1.Healthy}), "the member has no b")
	r.Unseen(self, id(0, "a"))
	g.Expect(told()).To(HaveKeyWithValue("a", workv1alpha1.Unknown), "it cannot be watched either")
	live := object("a", "1")
	r.Report(w, applied(), both, []*unstructured.Unstructured{live, nil}, []bool{false, false})
	g.Expect(told()).To(HaveKeyWithValue("a", workv1alpha1.Healthy))
	r.Report(w, applied(), both, none, []bool{true, false})
	r.Gone(self, live)
	g.Expect(told()).To(BeEmpty(), "the member says that it is gone")
}
