package setup_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/setup"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/stagetest"
)

// applied makes a Work with a ConfigMap of its name and waits until it is applied.
func (w *world) applied(t *testing.T, name string) *workv1alpha1.Work {
	t.Helper()
	configMap := w.configMap(name)
	configMap["metadata"].(map[string]any)["labels"] = map[string]any{contract.WorkPermanentIDLabel: "of-" + name} //nolint:errcheck,forcetypeassert // It is one.
	work := w.work(t, name, configMap)
	NewWithT(t).Eventually(func(g Gomega) {
		g.Expect(meta.IsStatusConditionTrue(w.read(g, work).Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
	}).WithTimeout(waitTimeout).Should(Succeed())
	return work
}

func TestNothingIsDeletedForAHubThatDoesNotConfirmIt(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newJoined(t, "lockedout")
	var locked atomic.Bool
	w.run(t, func(o *setup.Options) {
		o.Hub = stagetest.Intercept(o.Hub, func(req *http.Request) (*http.Response, error) {
			if locked.Load() && req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/works/stays") { // as if the agent's rights were gone
				return nil, errors.New("forbidden")
			}
			return nil, nil
		})
	})
	w.place(t)
	work := w.applied(t, "stays")
	locked.Store(true)
	w.end(t, work)
	g.Consistently(func() map[string]string { return w.data("stays") }).WithTimeout(2 * time.Second).ShouldNot(BeNil())

	locked.Store(false)
	g.Eventually(func() map[string]string { return w.data("stays") }).WithTimeout(waitTimeout).Should(BeNil())
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
			w.applied(t, "taken")
			stop()
			// Another hub knows this cluster by the same name, and its agent has taken over one object.
			other := []byte(`{"metadata":{"labels":{"` + contract.WorkPermanentIDLabel + `":"other"}}}`)
			taken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: "taken"}}
			g.Expect(w.client.Patch(t.Context(), taken, client.RawPatch("application/merge-patch+json", other))).To(Succeed())
			// The hub no longer has one of the two Works; the journal has both.
			patch := []byte(`{"metadata":{"finalizers":null}}`)
			g.Expect(w.client.Patch(t.Context(), gone, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
			g.Expect(w.client.Delete(t.Context(), gone)).To(Succeed())
			g.Expect(w.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: "theirs"}})).To(Succeed())

			o := setup.Options{Hub: w.config, Member: w.config, Cluster: name, StateDir: state, Clock: clock.RealClock{}}
			works, err := setup.Works(t.Context(), o)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(works).To(HaveLen(2))
			swept, err := setup.Sweep(t.Context(), o, setup.SweepOptions{Works: works, Stay: stay})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(swept.Objects).To(Equal(2))
			g.Expect(swept.Left).To(ConsistOf(ContainSubstring("ConfigMap " + w.member + "/taken stays as it is")))
			as := taken.DeepCopy()
			g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(taken), taken)).To(Succeed())
			g.Expect(taken).To(Equal(as), "that is the other hub's")
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

			swept, err = setup.Sweep(t.Context(), o, setup.SweepOptions{Stay: stay, Approved: true})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(swept.Objects).To(BeZero(), "nothing is left to do")
		})
	}
}

// A command that leaves the hub was killed once the hub had let the cluster go, and is run again.
func TestRecordedWorksAreSweptAfterTheHubForgotThem(t *testing.T) {
	t.Parallel()
	for name, stay := range map[string]bool{"again-swept": false, "again-kept": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, w := NewWithT(t), newJoined(t, name)
			w.place(t)
			stop := w.run(t, func(*setup.Options) {})
			w.applied(t, "known")
			stop()

			again := setup.SweepOptions{Stay: stay, Approved: true, Unasked: true}
			o := setup.Options{Hub: w.config, Member: w.config, Cluster: name, StateDir: t.TempDir(), Clock: clock.RealClock{}}
			_, err := setup.Sweep(t.Context(), o, again)
			g.Expect(err).To(MatchError(setup.ErrNoRecord), "it does not say that it dealt with what it knows nothing of")
			works, err := setup.Works(t.Context(), o)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(setup.Record(t.Context(), o, works)).To(Succeed())

			again.Again = true
			for _, objects := range []int{1, 0} { // the second time it was killed after the first Sweep
				swept, err := setup.Sweep(t.Context(), o, again)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(swept.Objects).To(Equal(objects))
			}
			cm := &corev1.ConfigMap{}
			err = w.client.Get(t.Context(), client.ObjectKey{Namespace: w.member, Name: "known"}, cm)
			if !stay {
				g.Expect(client.IgnoreNotFound(err)).To(Succeed())
				g.Expect(err).To(HaveOccurred())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(cm.Labels).NotTo(HaveKey(contract.ManagedLabel))
		})
	}
}

// TestTwentyOneObjectsAreHeldUntilSomebodySaysSo checks that an agent whose Cluster has no deletionBrake applies the
// default, and that its Cluster shows the hold even during the removal. A retired agent leaves as many objects to a
// person, and reports their number.
func TestTwentyOneObjectsAreHeldUntilSomebodySaysSo(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newJoined(t, "crowded")
	w.place(t)
	state := t.TempDir()
	stop := w.run(t, func(o *setup.Options) { o.StateDir = state })
	const many = 21
	manifests := make([]any, many)
	for i := range manifests {
		manifests[i] = w.configMap("settings-" + strconv.Itoa(i))
	}
	work := w.work(t, "crowded", manifests...)
	g.Eventually(func(g Gomega) {
		g.Expect(meta.IsStatusConditionTrue(w.read(g, work).Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
	}).WithTimeout(waitTimeout).Should(Succeed())
	w.changeCluster(t, func(c *clusterv1alpha1.Cluster) { c.Finalizers = []string{"test.example.com/hold"} })
	g.Expect(w.client.Delete(t.Context(), w.cluster(g))).To(Succeed())
	w.end(t, work)
	g.Eventually(func(g Gomega) {
		held := meta.FindStatusCondition(w.cluster(g).Status.Conditions, clusterv1alpha1.ClusterDeletionsHeld)
		g.Expect(held).NotTo(BeNil())
		g.Expect(held.Status).To(Equal(metav1.ConditionTrue))
		g.Expect(held.Message).To(ContainSubstring("21 of 21 objects would be deleted within a minute, and the deletion brake allows 20 or 30 %"))
	}).WithTimeout(waitTimeout).Should(Succeed())
	g.Expect(w.data("settings-0")).NotTo(BeNil())
	stop()

	o := setup.Options{Hub: w.config, Member: w.config, Cluster: "crowded", StateDir: state, Clock: clock.RealClock{}}
	_, err := setup.Sweep(t.Context(), o, setup.SweepOptions{})
	g.Expect(err).To(MatchError(ContainSubstring("agent leave --objects remove")))
	g.Expect(w.data("settings-0")).NotTo(BeNil())
	told := 0
	swept, err := setup.Sweep(t.Context(), o, setup.SweepOptions{Approved: true, Begin: func(objects int) { told = objects }})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(told).To(Equal(many))
	g.Expect(swept.Objects).To(Equal(many))
	g.Expect(w.data("settings-0")).To(BeNil())

	_, err = setup.Sweep(t.Context(), o, setup.SweepOptions{})
	g.Expect(err).To(MatchError(setup.ErrNoRecord), "it does not say that it removed what it knows nothing of")
	unasked := setup.SweepOptions{Approved: true, Unasked: true}
	_, err = setup.Sweep(t.Context(), setup.Options{Member: w.config, Cluster: w.name, StateDir: t.TempDir(), Clock: clock.RealClock{}}, unasked)
	g.Expect(err).To(MatchError(setup.ErrNoRecord), "nor does it for a person, if the hub did not say what there is")
	w.changeCluster(t, func(c *clusterv1alpha1.Cluster) { c.Finalizers = nil })
}
