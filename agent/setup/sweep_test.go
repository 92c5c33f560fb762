package setup_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/setup"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// applied makes a Work with a ConfigMap of its name and waits until it is applied.
func (w *world) applied(t *testing.T, name string) *workv1alpha1.Work {
	t.Helper()
	work := w.work(t, name, w.configMap(name))
	NewWithT(t).Eventually(func(g Gomega) {
		g.Expect(meta.IsStatusConditionTrue(w.read(g, work).Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
	}).WithTimeout(patience).Should(Succeed())
	return work
}

func TestNothingIsDeletedForAHubThatDoesNotConfirmIt(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t, "lockedout")
	work := w.applied(t, "stays")
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: w.name}}
	g.Expect(w.client.Delete(t.Context(), lease)).To(Succeed(), "as if its rights were gone")
	g.Expect(w.client.Delete(t.Context(), work)).To(Succeed())
	g.Consistently(func() map[string]string { return w.data("stays") }).WithTimeout(2 * time.Second).ShouldNot(BeNil())

	lease.ResourceVersion = ""
	g.Expect(w.client.Create(t.Context(), lease)).To(Succeed())
	g.Eventually(func() map[string]string { return w.data("stays") }).WithTimeout(patience).Should(BeNil())
}

func TestSweepEndsWhatTheHubHadInTheMember(t *testing.T) {
	t.Parallel()
	for name, stay := range map[string]bool{"swept": false, "kept": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, w := NewWithT(t), newJoined(t, name)
			w.place(t)
			state := t.TempDir()
			stop := w.run(t, func(o *setup.Options) { o.StateDir = state })
			w.applied(t, "known")
			gone := w.applied(t, "absent")
			stop()
			// The hub has one of the two no more; the journal has both.
			patch := []byte(`{"metadata":{"finalizers":null}}`)
			g.Expect(w.client.Patch(t.Context(), gone, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
			g.Expect(w.client.Delete(t.Context(), gone)).To(Succeed())
			g.Expect(w.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: "theirs"}})).To(Succeed())

			o := setup.Options{Hub: w.config, Member: w.config, Cluster: name, StateDir: state, Clock: clock.RealClock{}}
			works, err := setup.Works(t.Context(), o)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(works).To(HaveLen(1))
			count, err := setup.Sweep(t.Context(), o, works, stay)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(count).To(Equal(2))
			for _, object := range []string{"known", "absent"} {
				cm := &corev1.ConfigMap{}
				err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.member, Name: object}, cm)
				if !stay {
					g.Expect(client.IgnoreNotFound(err)).To(Succeed())
					g.Expect(err).To(HaveOccurred(), object)
					continue
				}
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(cm.Labels).NotTo(HaveKey(contract.ManagedLabel))
				g.Expect(cm.Annotations).NotTo(HaveKey(contract.WorkNameAnnotation))
				g.Expect(cm.Data).To(HaveKeyWithValue("a", "1"))
			}
			g.Expect(w.data("theirs")).To(BeEmpty())
			g.Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.member, Name: "theirs"}, &corev1.ConfigMap{})).To(Succeed())

			count, err = setup.Sweep(t.Context(), o, nil, stay)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(count).To(BeZero(), "nothing is left to do")
		})
	}
}
