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
	g.Expect(latest(e)).To(BeEmpty(), "a write that is under way is none yet")
	e.wrote(version("5", "h"))
	g.Expect(latest(e)).To(Equal([]string{"5"}), "the cache does not show it")
	g.Expect(latest(e, version("4", "g"))).To(Equal([]string{"5"}), "the cache shows what was before")
	g.Expect(latest(e, version("6", "h"))).To(Equal([]string{"6"}), "the cache shows what came after")
	g.Expect(e.observe(version("4", "g"), true)).To(BeTrue(), "what was before is no news")
	g.Expect(e.observe(version("5", "h"), true)).To(BeTrue(), "it is ours")
	g.Expect(latest(e)).To(BeEmpty())
	g.Expect(e.observe(version("5", "h"), true)).To(BeFalse(), "nothing is expected any more")
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
	g.Expect(e.works).To(BeEmpty(), "the cache has it already")
}

func TestForeignWriteIsReported(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, _ := makeExpectations()
	g.Expect(e.observe(version("3", "h"), false)).To(BeFalse())
	e.begin(id, version("", "h"))
	g.Expect(e.observe(version("4", "other"), false)).To(BeFalse(), "while ours is under way")
	e.wrote(version("5", "h"))
	g.Expect(e.observe(version("6", "h"), true)).To(BeFalse(), "after ours")
	g.Expect(e.pending(id).suspect).To(HaveLen(1), "its hash says nothing any more")
	e.begin(id, version("6", "h"))
	e.wrote(version("7", "h"))
	g.Expect(e.pending(id).suspect).To(BeEmpty(), "now it is as rendered")
}

func TestFailedWriteIsNotExpected(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, _ := makeExpectations()
	e.begin(id, version("", "h"))
	e.failed(version("", "h"))
	g.Expect(latest(e)).To(BeEmpty())
	g.Expect(e.observe(version("5", "h"), false)).To(BeFalse(), "it was done after all: look at it")
}

func TestDeletionIsPendingUntilSeen(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, _ := makeExpectations()
	e.deleting(id, version("5", "h"), contract.DeletionMoved)
	g.Expect(latest(e, version("5", "h"))).To(Equal([]string{"5 going"}))
	other := version("9", "h")
	other.UID = "uid-2"
	g.Expect(latest(e, other)).To(Equal([]string{"9"}), "one that was made since is not meant")
	g.Expect(e.observe(version("6", "h"), false)).To(BeTrue(), "from before the deletion")
	going := version("7", "h")
	going.Annotations[contract.DeletionIntentAnnotation] = contract.DeletionMoved
	g.Expect(e.observe(going, false)).To(BeTrue(), "from between the intent and the deletion")
	g.Expect(e.works).To(HaveLen(1))
	going.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	g.Expect(e.observe(going, false)).To(BeTrue())
	g.Expect(e.works).To(BeEmpty())

	e.deleting(id, version("5", "h"), contract.DeletionMoved)
	e.gone(other)
	g.Expect(e.works).To(HaveLen(1), "another one went")
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
	g.Expect(e.works).To(HaveLen(1), "that is another one")
	e.withdrawing(version("5", "h"))
	g.Expect(e.works).To(BeEmpty())
	g.Expect(e.byBinding).To(BeEmpty())
	withdrawn := version("6", "h")
	withdrawn.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	g.Expect(contract.DeletionIntended(e.pending(id).latest([]*workv1alpha1.Work{withdrawn})[0].Annotations)).To(BeFalse())
	g.Expect(e.observe(withdrawn, false)).To(BeFalse(), "the binding is looked at again")
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
