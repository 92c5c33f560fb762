package execution

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"fairlead.dev/agent/execution/plan"
)

func TestTheJournalIsGivenWhatIsNotGoneWhenItIsAnotherList(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Unix(1_700_000_000, 0)
	l := newPendingDeletions()
	work := types.NamespacedName{Namespace: ownWorks, Name: "settings"}
	add := func(i int) {
		object := plan.Object{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), NamespacedName: types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(i)}}
		l.Add(object, types.UID(fmt.Sprint(i)), work, now.Add(time.Duration(i)*time.Second), time.Minute)
	}
	_, ok := l.unkept(now, true)
	g.Expect(ok).To(BeFalse(), "nothing was deleted")
	add(1)
	kept, ok := l.unkept(now, false)
	g.Expect(ok).To(BeTrue())
	g.Expect(kept).To(HaveLen(1))
	_, ok = l.unkept(now.Add(time.Hour), true)
	g.Expect(ok).To(BeFalse(), "it has that")
	add(0)
	_, ok = l.unkept(now.Add(keepDeletionsEvery-1), false)
	g.Expect(ok).To(BeFalse(), "it was just given another one")
	_, ok = l.unkept(now, true)
	g.Expect(ok).To(BeTrue(), "the agent stops")
	for i := range maxKeptDeletions {
		add(i)
	}
	add(2 * maxKeptDeletions)
	kept, _ = l.unkept(now, true)
	g.Expect(kept).To(HaveLen(maxKeptDeletions))
	g.Expect(kept[0].Name).To(Equal("0"))
	g.Expect(kept).NotTo(ContainElement(HaveField("Name", fmt.Sprint(2*maxKeptDeletions))), "those that were deleted first are")

	r := &Reconciler{pendingDeletions: newPendingDeletions(), clock: clocktesting.NewFakeClock(now.Add(500 * time.Second)), stuckAfter: time.Minute, namespaces: []string{"shop"}}
	elsewhere := kept[0].DeepCopy()
	elsewhere.Namespace, elsewhere.UID = "payroll", "x"
	r.resumeDeletions(append(kept, *elsewhere, metav1.PartialObjectMetadata{}))
	g.Expect(r.pendingDeletions.objects).To(HaveLen(maxKeptDeletions))
	g.Expect(r.pendingDeletions.Due(now.Add(559*time.Second))).To(BeEmpty(), "the member may have just started, too")
	g.Expect(r.pendingDeletions.Due(now.Add(560*time.Second))).To(HaveLen(maxKeptDeletions), "also those that are of later, since the clock was put back")
	kept, ok = r.pendingDeletions.unkept(now, true)
	g.Expect(ok).To(BeTrue(), "what is elsewhere is forgotten")
	g.Expect(kept).To(HaveLen(maxKeptDeletions))
	_, ok = r.pendingDeletions.unkept(now, true)
	g.Expect(ok).To(BeFalse(), "the journal has these")
}
