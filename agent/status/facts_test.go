package status

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

func object(name, resourceVersion string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("v1")
	obj.SetKind("ConfigMap")
	obj.SetNamespace("shop")
	obj.SetName(name)
	obj.SetUID("uid-1")
	obj.SetResourceVersion(resourceVersion)
	return obj
}

func id(ordinal int, name string) workv1alpha1.ResourceIdentifier {
	return workv1alpha1.ResourceIdentifier{Ordinal: ordinal, Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name}
}

func workAt(generation int64) *workv1alpha1.Work {
	work := &workv1alpha1.Work{}
	work.UID, work.Generation = "work", generation
	return work
}

func TestTheNewestVersionOfAnObjectWins(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := newFacts()
	f.observe(id(3, "a"), object("a", "10"))
	f.observe(id(0, "a"), object("a", "9"))
	g.Expect(f.objects).To(HaveLen(1))
	g.Expect(f.objects[id(0, "a")].resourceVersion).To(Equal("10"))
	f.changed = false
	f.observe(id(0, "a"), object("a", "10"))
	g.Expect(f.changed).To(BeFalse(), "the same again is no news")
	f.observe(id(0, "a"), object("a", "11"))
	g.Expect(f.changed).To(BeTrue())

	other := object("a", "5")
	other.SetUID("another")
	f.observe(id(0, "a"), other)
	g.Expect(f.objects[id(0, "a")].resourceVersion).To(Equal("5"), "another object of the name is the newer one")
}

// TestAnObjectIsKeptOnce checks that of an apply's response and the same object in the cache the cache's is kept, in
// whichever order they come: it is in memory anyway.
func TestAnObjectIsKeptOnce(t *testing.T) {
	t.Parallel()
	for name, cachedFirst := range map[string]bool{"the answer comes first": false, "the cache comes first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r, _ := newReporter(t, interceptor.Funcs{}, work())
			answer, cached := object("a", "10"), object("a", "10")
			if cachedFirst {
				r.Observe(self, cached)
			}
			r.Report(work(), applied(), []workv1alpha1.ResourceIdentifier{id(0, "a")}, []*unstructured.Unstructured{answer}, nil)
			if !cachedFirst {
				r.Observe(self, cached)
			}
			kept := r.works[self].objects[id(0, "a")]
			g.Expect(kept.last).To(BeIdenticalTo(cached))
			g.Expect(kept.live).To(BeIdenticalTo(cached))
		})
	}
}

func TestAnObjectThatIsGoneIsDroppedUnlessItWasMadeAnew(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := newFacts()
	old := object("a", "10")
	f.observe(id(0, "a"), old)
	fresh := object("a", "12")
	fresh.SetUID("fresh")
	f.observe(id(0, "a"), fresh)
	f.gone(id(0, "a"), old.GetUID())
	g.Expect(f.objects).To(HaveLen(1))
	f.gone(id(0, "a"), fresh.GetUID())
	g.Expect(f.objects).To(BeEmpty())
}

func TestAReportKeepsWhatWasSeenBeforeItAndDropsWhatItDoesNotName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := newFacts()
	f.observe(id(0, "a"), object("a", "10"))
	f.observe(id(0, "b"), object("b", "10"))
	f.report(workAt(2), []metav1.Condition{{Type: "Applied"}}, []workv1alpha1.ResourceIdentifier{id(0, "x"), id(1, "a")})
	g.Expect(f.objects).To(HaveLen(1))
	g.Expect(f.objects).To(HaveKey(id(0, "a")))
	g.Expect(f.conditions).To(ConsistOf(metav1.Condition{Type: "Applied", ObservedGeneration: 2}))

	// A condition that is not given stays as it is.
	f.report(workAt(3), []metav1.Condition{{Type: "Dispatching"}}, nil)
	g.Expect(f.conditions).To(ConsistOf(
		metav1.Condition{Type: "Applied", ObservedGeneration: 2}, metav1.Condition{Type: "Dispatching", ObservedGeneration: 3}))

	// A new Work of the same name starts from scratch.
	other := workAt(1)
	other.UID = "another"
	f.report(other, []metav1.Condition{{Type: "Dispatching"}}, nil)
	g.Expect(f.conditions).To(HaveLen(1))
}

func TestSameStatus(t *testing.T) {
	t.Parallel()
	status := func(raw string) *workv1alpha1.WorkStatus {
		m := workv1alpha1.ManifestStatus{Identifier: id(0, "a"), Health: workv1alpha1.Healthy}
		if raw != "" {
			m.Status = &runtime.RawExtension{Raw: []byte(raw)}
		}
		return &workv1alpha1.WorkStatus{ManifestStatuses: []workv1alpha1.ManifestStatus{m}}
	}
	g := NewWithT(t)
	g.Expect(sameStatus(status(`{"a":1,"b":2}`), status(`{ "b": 2, "a": 1 }`))).To(BeTrue())
	g.Expect(sameStatus(status(`{"a":1}`), status(`{"a":2}`))).To(BeFalse())
	g.Expect(sameStatus(status(`{"a":9007199254740993}`), status(`{"a":9007199254740992}`))).To(BeFalse())
	g.Expect(sameStatus(status(""), status(`{}`))).To(BeFalse())
	g.Expect(sameStatus(status(""), status(""))).To(BeTrue())
	g.Expect(sameStatus(status(""), &workv1alpha1.WorkStatus{})).To(BeFalse())
}

func TestADraftThatSaysNothingNewIsNoPatch(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	status := workv1alpha1.WorkStatus{
		Conditions:       []metav1.Condition{{Type: "Applied", Status: metav1.ConditionTrue}},
		ManifestStatuses: []workv1alpha1.ManifestStatus{{Identifier: id(0, "a"), Health: workv1alpha1.Healthy}},
	}
	patch, err := draft{base: status, status: *status.DeepCopy()}.patch()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(patch).To(BeNil())

	// Removed fields are set to null, and unchanged ones are not sent.
	less := *status.DeepCopy()
	less.ManifestStatuses = nil
	patch, err = draft{base: status, status: less, uid: "u"}.patch()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(patch).To(MatchJSON(`{"metadata":{"uid":"u"},"status":{"manifestStatuses":null}}`))
}

func TestAStatusThatIsNotOursIsNoticed(t *testing.T) {
	t.Parallel()
	ours := workv1alpha1.WorkStatus{Conditions: []metav1.Condition{{Type: "Applied", Status: metav1.ConditionTrue}}}
	stale := workv1alpha1.WorkStatus{Conditions: []metav1.Condition{{Type: "Applied", Status: metav1.ConditionFalse}}}
	now := time.Unix(1000, 0)
	shown := func(resourceVersion string, status workv1alpha1.WorkStatus) *workv1alpha1.Work {
		work := workAt(1)
		work.ResourceVersion, work.Status = resourceVersion, status
		return work
	}
	reported := func() *facts {
		f := newFacts()
		f.report(workAt(1), nil, nil)
		return f
	}

	t.Run("after a restart that found nothing to write", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		f := reported()
		g.Expect(f.differs(shown("10", stale))).To(BeFalse(), "nothing was compared yet")
		f.wrote(draft{base: ours, status: ours}, "10", false, now)
		g.Expect(f.differs(shown("10", ours))).To(BeFalse())
		g.Expect(f.differs(shown("11", ours))).To(BeFalse())
		g.Expect(f.differs(shown("12", workv1alpha1.WorkStatus{}))).To(BeTrue())
	})
	t.Run("when the cache shows late what was written before", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		f := reported()
		f.wrote(draft{status: stale}, "20", true, now)
		// The cache lags so far behind that it wins: it shows a status that is correct again.
		f.wrote(draft{base: ours, status: ours}, "10", false, now.Add(time.Minute))
		g.Expect(f.differs(shown("20", stale))).To(BeTrue(), "the hub has the older news")
	})
	t.Run("but not while the cache is known to be behind", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		f := reported()
		f.wrote(draft{status: ours}, "20", true, now)
		f.wrote(draft{base: ours, status: ours, behind: true}, "10", false, now)
		g.Expect(f.differs(shown("20", ours))).To(BeFalse())
		g.Expect(f.written.resourceVersion).To(Equal("20"))
	})
}
