package execution_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// vanish takes a Work away without the agent, as a hub does that is restored from an
// older backup.
func (w *world) vanish(t *testing.T, work *workv1alpha1.Work) {
	t.Helper()
	w.change(t, work, func(work *workv1alpha1.Work) { work.Finalizers = []string{"test.example.com/hold"} })
	w.change(t, work, func(work *workv1alpha1.Work) { work.Finalizers = nil })
	NewWithT(t).Expect(w.client.Delete(t.Context(), work)).To(Succeed())
	w.isGone(t, work)
}

func TestTheObjectsOfAnAbsentWorkStayAreReportedAndAreClaimedAgain(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("one", map[string]string{"a": "1"}), w.configMap("two", nil))
	w.isApplied(t, work)
	first := w.get(g, "one")
	g.Expect(w.executor.Unclaimed()).To(BeZero())

	// The finalizer is taken off first, and the agent does not put it on a Work that does
	// not change.
	fresh := &workv1alpha1.Work{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(work), fresh)).To(Succeed())
	w.vanish(t, fresh)
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(2))
	g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ConsistOf(And(
		HavePrefix("Unclaimed: 2 objects in the member name this Work"),
		ContainSubstring("ConfigMap "+w.member+"/one, ConfigMap "+w.member+"/two"))))
	g.Expect(w.requests.about("DELETE")).To(BeEmpty())

	// One is deleted in the member, by somebody who does not need it.
	g.Expect(w.client.Delete(t.Context(), w.get(g, "two"))).To(Succeed())
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(1))

	again := w.work(t, "settings", w.configMap("one", map[string]string{"a": "2"}))
	w.isApplied(t, again)
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(BeZero())
	// That the former Work of this name was applied was reported as well.
	g.Eventually(func(g Gomega) { g.Expect(w.get(g, "one").Data).To(HaveKeyWithValue("a", "2")) }).Should(Succeed())
	g.Expect(w.get(g, "one").UID).To(Equal(first.UID))
}

func TestWhatAWorkNoLongerContainsIsUnclaimed(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("one", nil), w.configMap("two", nil))
	w.isApplied(t, work)
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests = raw(t, w.configMap("one", nil)) })
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(1))
	g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ConsistOf(ContainSubstring("ConfigMap " + w.member + "/two")))
	g.Expect(w.get(g, "two").DeletionTimestamp).To(BeNil())
}

func TestAWorkThatEndsLeavesNothingUnclaimed(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	// Another Work keeps the kind in use.
	w.isApplied(t, w.work(t, "other", w.configMap("other", nil)))
	for _, preserve := range []bool{false, true} {
		work := w.work(t, "settings", w.configMap("settings", nil))
		w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.PreserveResourcesOnDeletion = &preserve })
		w.isApplied(t, work)
		w.end(t, work, contract.DeletionRemoved)
		w.isGone(t, work)
	}
	g.Consistently(w.executor.Unclaimed).WithTimeout(3 * time.Second).Should(BeZero())
	g.Expect(w.events.all()).To(BeEmpty())
	g.Expect(w.get(g, "settings").Labels).NotTo(HaveKey(contract.ManagedLabel))
	g.Expect(w.get(g, "other").ObjectMeta).To(HaveField("DeletionTimestamp", (*metav1.Time)(nil)))
}
