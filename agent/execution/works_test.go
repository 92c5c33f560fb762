package execution

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// TestARestoredHubTakesADeletionBack has a Work come back as it was before its deletion, which the agent had
// completed: it is reconciled, and when it vanishes again it counts as absent.
func TestARestoredHubTakesADeletionBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "works", Name: "settings", UID: "1"}}
	ending := work.DeepCopy()
	ending.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	g.Expect(asks(work, ending)).To(BeTrue())
	g.Expect(asks(ending, work)).To(BeTrue())
	ending.Annotations = map[string]string{contract.DeletionIntentAnnotation: contract.DeletionRemoved}
	g.Expect(asks(ending, work)).To(BeTrue())
	g.Expect(asks(work, work)).To(BeFalse())

	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	w := newWorks(fake.NewClientBuilder().WithScheme(scheme).WithObjects(work).Build(), nil)
	w.arrive()
	w.Finish(work.UID)
	_, from, err := w.Get(t.Context(), client.ObjectKeyFromObject(work))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(from).To(Equal(hub))
	g.Expect(w.MarkAbsent(work)).To(BeFalse(), "nobody saw to the end of it this time")
	g.Expect(w.kept).To(HaveKey(client.ObjectKeyFromObject(work)))
}

// TestAnAbsentWorkIsAbsentWithoutTheHub checks that a Work that was absent at the last contact with the hub is absent
// during an outage as well.
func TestAnAbsentWorkIsAbsentWithoutTheHub(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	gone, kept := workWith(t, "gone", inShop("gone", "", "")), workWith(t, "kept", inShop("kept", "", ""))
	w := newWorks(fakeClient(t, interceptor.Funcs{}), []Kept{{Work: gone, Absent: true}, {Work: kept}})
	g.Expect(w.giveUp()).To(HaveLen(2))
	for work, want := range map[*workv1alpha1.Work]origin{gone: absent, kept: journal} {
		got, from, err := w.Get(t.Context(), client.ObjectKeyFromObject(work))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(from).To(Equal(want), work.Name)
		g.Expect(got).To(BeIdenticalTo(work))
	}
}

// TestAnAbsentWorkIsForgottenOnlyWhenAllItsKindsAreWatched covers a Work with kinds that are not watched yet: it may
// have objects that the agent has not seen.
func TestAnAbsentWorkIsForgottenOnlyWhenAllItsKindsAreWatched(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	first, second := workWith(t, "settings", inShop("settings", "", "")), workWith(t, "settings", inShop("settings", "", ""))
	w := newWorks(fakeClient(t, interceptor.Funcs{}), []Kept{{Work: first}})
	w.arrive()
	g.Expect(w.Watched()).To(BeEmpty())
	w.Watch(first)
	g.Expect(w.Watched()).To(ConsistOf(BeIdenticalTo(first)))
	w.MarkAbsent(second) // the hub had it again, changed, and has lost it again
	w.Watch(first)
	g.Expect(w.Watched()).To(BeEmpty())
	w.Release(first)
	g.Expect(w.kept).To(HaveLen(1))
	w.Release(second)
	g.Expect(w.kept).To(BeEmpty())
}

// TestAWorkThatOutlivedAnOlderOneIsKept covers a restored hub that deletes a Work that had already ended and had been
// followed by another of the same name. The agent goes by the newer one, in whichever order it learns of them.
func TestAWorkThatOutlivedAnOlderOneIsKept(t *testing.T) {
	t.Parallel()
	older, newer := workWith(t, "settings", inShop("settings", "", "")), workWith(t, "settings", inShop("settings", "", ""))
	older.UID, older.CreationTimestamp = "older", metav1.Unix(100, 0)
	newer.UID, newer.CreationTimestamp = "newer", metav1.Unix(200, 0)
	name := client.ObjectKeyFromObject(older)
	ending := older.DeepCopy()
	ending.DeletionTimestamp, ending.Finalizers = new(metav1.Unix(150, 0)), []string{contract.ExecutionFinalizer}
	for what, tc := range map[string]struct {
		kept []Kept
		hear func(*works)
	}{
		"by the journal, after a start":        {kept: []Kept{{Work: newer}}},
		"by the journal, absent before":        {kept: []Kept{{Work: newer, Absent: true}}},
		"by a list in which it is another one": {hear: func(w *works) { w.Replace(newer) }},
		"by a list without it, and one more":   {hear: func(w *works) { w.MarkAbsent(newer) }},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			hubClient := fakeClient(t, interceptor.Funcs{}, ending.DeepCopy())
			w := newWorks(hubClient, tc.kept)
			w.arrive()
			if tc.hear != nil {
				tc.hear(w)
			}
			got, from, err := w.Get(t.Context(), name)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(from).To(Equal(outlived))
			g.Expect(got.UID).To(Equal(older.UID))
			g.Expect(w.Outlive(got)).To(BeIdenticalTo(newer))
			g.Expect(w.Outlive(newer)).To(BeNil())
			live := &workv1alpha1.Work{}
			g.Expect(hubClient.Get(t.Context(), name, live)).To(Succeed())
			live.Finalizers = nil
			g.Expect(hubClient.Update(t.Context(), live)).To(Succeed())
			g.Expect(w.MarkAbsent(got)).To(BeFalse())
			last, from, err := w.Get(t.Context(), name)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(from).To(Equal(absent))
			g.Expect(last).To(BeIdenticalTo(newer), "its objects are those that are left")
		})
	}
}

// TestTheDeletionOfANewerWorkIsMeant checks that the deletion of a Work that is the one the agent knows, or a newer
// one, is carried out.
func TestTheDeletionOfANewerWorkIsMeant(t *testing.T) {
	t.Parallel()
	for uid, made := range map[types.UID]int64{"same": 100, "newer": 200, "another of the same second": 100} {
		t.Run(string(uid), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			kept, ending := workWith(t, "settings", inShop("settings", "", "")), workWith(t, "settings", inShop("settings", "", ""))
			kept.UID, kept.CreationTimestamp = "same", metav1.Unix(100, 0)
			ending.UID, ending.CreationTimestamp = uid, metav1.Unix(made, 0)
			ending.DeletionTimestamp, ending.Finalizers = new(metav1.Unix(300, 0)), []string{contract.ExecutionFinalizer}
			w := newWorks(fakeClient(t, interceptor.Funcs{}, ending), []Kept{{Work: kept}})
			w.arrive()
			_, from, err := w.Get(t.Context(), client.ObjectKeyFromObject(kept))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(from).To(Equal(hub))
			g.Expect(w.kept).To(BeEmpty())
		})
	}
}
