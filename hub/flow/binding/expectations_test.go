package binding

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

const id = "id-1"

func version(rv, hash string) *workv1alpha1.Work {
	return &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace: "karmada-es-a", Name: "web", UID: "uid-1", ResourceVersion: rv,
		Annotations: map[string]string{contract.ManifestHashAnnotation: hash},
	}}
}

func makeExpectations() (*expectations, *clocktesting.FakePassiveClock) {
	c := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	return newExpectations(c), c
}

// latest returns the resourceVersions of a binding's Works according to the cache and the expectations.
func latest(e *expectations, cached ...*workv1alpha1.Work) []string {
	out := []string{}
	for _, w := range e.pending(id).latest(cached) {
		v := w.ResourceVersion
		if !w.DeletionTimestamp.IsZero() {
			v += " going"
		}
		out = append(out, v)
	}
	return out
}

func TestWriteIsPendingUntilCached(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, _ := makeExpectations()
	e.begin(id, version("", "h"))
	g.Expect(latest(e)).To(BeEmpty(), "a write that is under way is not pending")
	e.wrote(version("5", "h"))
	g.Expect(latest(e)).To(Equal([]string{"5"}), "the written version counts if the cache shows none")
	g.Expect(latest(e, version("4", "g"))).To(Equal([]string{"5"}), "the written version counts if the cache is older")
	g.Expect(latest(e, version("6", "h"))).To(Equal([]string{"6"}), "the cached version counts if it is newer")
	g.Expect(e.observe(version("4", "g"), true)).To(BeTrue(), "an older event is ignored")
	g.Expect(e.observe(version("5", "h"), true)).To(BeTrue(), "the event of the own write is recognised")
	g.Expect(latest(e)).To(BeEmpty())
	g.Expect(e.observe(version("5", "h"), true)).To(BeFalse(), "an event without an expectation is foreign")
	g.Expect(e.works).To(BeEmpty())
	g.Expect(e.byBinding).To(BeEmpty())
}

func TestWriteSeenBeforeResponse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, _ := makeExpectations()
	e.begin(id, version("", "h"))
	g.Expect(e.observe(version("5", "h"), false)).To(BeTrue())
	e.wrote(version("5", "h"))
	g.Expect(e.works).To(BeEmpty(), "the cache already shows the write")
}

func TestForeignWriteIsReported(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, _ := makeExpectations()
	g.Expect(e.observe(version("3", "h"), false)).To(BeFalse())
	e.begin(id, version("", "h"))
	g.Expect(e.observe(version("4", "other"), false)).To(BeFalse(), "a foreign write during the own one")
	e.wrote(version("5", "h"))
	g.Expect(e.observe(version("6", "h"), true)).To(BeFalse(), "a foreign write after the own one")
	g.Expect(e.pending(id).suspect).To(HaveLen(1), "the Work is suspect")
	e.begin(id, version("6", "h"))
	e.wrote(version("7", "h"))
	g.Expect(e.pending(id).suspect).To(BeEmpty(), "an own write ends the suspicion")
}

func TestFailedWriteIsNotExpected(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, _ := makeExpectations()
	e.begin(id, version("", "h"))
	e.failed(version("", "h"))
	g.Expect(latest(e)).To(BeEmpty())
	g.Expect(e.observe(version("5", "h"), false)).To(BeFalse(), "a failed write that took effect is reported")
}

func TestDeletionIsPendingUntilSeen(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, _ := makeExpectations()
	e.deleting(id, version("5", "h"), contract.DeletionMoved)
	g.Expect(latest(e, version("5", "h"))).To(Equal([]string{"5 going"}))
	other := version("9", "h")
	other.UID = "uid-2"
	g.Expect(latest(e, other)).To(Equal([]string{"9"}), "a Work that was created later is not affected")
	g.Expect(e.observe(version("6", "h"), false)).To(BeTrue(), "an event from before the deletion is ignored")
	going := version("7", "h")
	going.Annotations[contract.DeletionIntentAnnotation] = contract.DeletionMoved
	g.Expect(e.observe(going, false)).To(BeTrue(), "an event between the intent and the deletion is ignored")
	g.Expect(e.works).To(HaveLen(1))
	going.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	g.Expect(e.observe(going, false)).To(BeTrue())
	g.Expect(e.works).To(BeEmpty())

	e.deleting(id, version("5", "h"), contract.DeletionMoved)
	e.gone(other)
	g.Expect(e.works).To(HaveLen(1), "the deletion of another Work is ignored")
	e.gone(version("7", "h"))
	g.Expect(e.works).To(BeEmpty())
}

// The watch shows the Work again only after its deletion was withdrawn, and missed the events in between.
func TestWithdrawnDeletionIsForgotten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, _ := makeExpectations()
	e.deleting(id, version("4", "h"), contract.DeletionMoved)
	other := version("4", "h")
	other.UID = "uid-2"
	e.withdrawing(other)
	g.Expect(e.works).To(HaveLen(1), "another Work is not affected")
	e.withdrawing(version("5", "h"))
	g.Expect(e.works).To(BeEmpty())
	g.Expect(e.byBinding).To(BeEmpty())
	withdrawn := version("6", "h")
	withdrawn.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	g.Expect(contract.DeletionIntended(e.pending(id).latest([]*workv1alpha1.Work{withdrawn})[0].Annotations)).To(BeFalse())
	g.Expect(e.observe(withdrawn, false)).To(BeFalse(), "the binding is reconciled")
}

func TestExpectationsTimeOut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, c := makeExpectations()
	e.begin(id, version("", "h"))
	e.wrote(version("5", "h"))
	c.SetTime(time.Unix(1000, 0).Add(expectTimeout))
	g.Expect(latest(e)).To(Equal([]string{"5"}))
	c.SetTime(time.Unix(1000, 0).Add(expectTimeout + time.Second))
	g.Expect(latest(e)).To(BeEmpty())
	g.Expect(e.works).To(BeEmpty())
}

func TestExpectationsAreKeptPerBinding(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, _ := makeExpectations()
	e.begin("id-2", version("", "h"))
	e.wrote(version("5", "h"))
	g.Expect(latest(e)).To(BeEmpty())
	g.Expect(e.pending("id-2").written).To(HaveKey(types.NamespacedName{Namespace: "karmada-es-a", Name: "web"}))
}
