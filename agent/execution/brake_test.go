package execution_test

import (
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/cluster"
)

// approve sets the annotation by which an operator releases the hold that began at since.
func (w *world) approve(t *testing.T, since time.Time) {
	t.Helper()
	approved := map[string]any{contract.DeletionsApprovedAnnotation: since.UTC().Format(time.RFC3339)}
	w.patch(t, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: w.cluster}}, "operator", map[string]any{"metadata": map[string]any{"annotations": approved}})
}

func TestTheBrakeHoldsDeletionsUntilAnOperatorSaysToGoOn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newWorldWith(t, native.New(), "braked")
	g.Expect(w.client.Create(t.Context(), &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: w.cluster},
		Spec: clusterv1alpha1.ClusterSpec{
			SyncMode: clusterv1alpha1.Pull, DeletionBrake: &clusterv1alpha1.DeletionBrake{Objects: 3, Percent: 20},
		},
	})).To(Succeed())
	const n = 12
	works := make([]*workv1alpha1.Work, n)
	for i := range n {
		name := "settings-" + strconv.Itoa(i)
		works[i] = w.work(t, name, w.configMap(name, nil))
	}
	for _, work := range works {
		w.isApplied(t, work)
	}
	remove := func(these []*workv1alpha1.Work) {
		for _, work := range these {
			w.end(t, work, contract.DeletionRemoved)
		}
	}
	left := func(these []*workv1alpha1.Work) int {
		there := 0
		for _, work := range these {
			err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.member, Name: work.Name}, w.configMap(work.Name, nil))
			g.Expect(client.IgnoreNotFound(err)).To(Succeed())
			if !apierrors.IsNotFound(err) {
				there++
			}
		}
		return there
	}
	held := func() metav1.ConditionStatus {
		c, _ := w.executor.Held()
		return c.Status
	}
	remove(works[:3])
	for _, work := range works[:3] {
		w.isGone(t, work)
	}
	g.Expect(held()).To(BeEmpty())

	remove(works[3:10])
	g.Eventually(held).WithTimeout(waitTimeout).Should(Equal(metav1.ConditionTrue))
	c, _ := w.executor.Held()
	g.Expect(c.Message).To(ContainSubstring("the deletion brake allows 3 or 20 %"))
	there := left(works[3:10])
	g.Expect(there).To(BeNumerically(">", 0))
	w.approve(t, c.LastTransitionTime.Add(-time.Hour))
	g.Consistently(func() int { return left(works[3:10]) }).WithTimeout(500*time.Millisecond).Should(Equal(there), "a word about another time is none")
	w.change(t, works[11], func(work *workv1alpha1.Work) {
		work.Spec.Workload.Manifests = raw(t, w.configMap("settings-11", map[string]string{"still": "served"}))
	})
	w.isApplied(t, works[11])

	// An approval covers what was reported by then, so an early one is followed by a request for the rest.
	g.Eventually(func() int {
		if c, _ := w.executor.Held(); c.Status == metav1.ConditionTrue {
			w.approve(t, c.LastTransitionTime.Time)
		}
		return left(works[:10])
	}).WithTimeout(waitTimeout).Should(BeZero())
	for _, work := range works[:10] {
		w.isGone(t, work)
	}
	g.Expect(left(works[:10])).To(BeZero())
	g.Expect(left(works[10:])).To(Equal(2))
	g.Expect(held()).To(Equal(metav1.ConditionFalse))
}

// TestAHoldEndsWithTheIntentsThatItHolds checks that a hold ends without an approval once the hub withdraws all held
// deletions.
func TestAHoldEndsWithTheIntentsThatItHolds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newWorldWith(t, native.New(), "braked-and-withdrawn")
	g.Expect(w.client.Create(t.Context(), &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: w.cluster},
		Spec:       clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull, DeletionBrake: &clusterv1alpha1.DeletionBrake{}},
	})).To(Succeed())
	works := make([]*workv1alpha1.Work, 3)
	for i := range works {
		name := "settings-" + strconv.Itoa(i)
		works[i] = w.work(t, name, w.configMap(name, nil))
	}
	for _, work := range works {
		w.isApplied(t, work)
	}
	for _, work := range works {
		w.end(t, work, contract.DeletionRemoved)
	}
	held := func() string {
		c, _ := w.executor.Held()
		return c.Reason
	}
	g.Eventually(held).WithTimeout(waitTimeout).Should(Equal(clusterv1alpha1.ReasonTooManyDeletions))
	for i, work := range works {
		g.Expect(kube.WithdrawDeletion(t.Context(), w.client, work, "test")).To(Succeed())
		if i == 0 {
			w.isGone(t, work)
			continue
		}
		// The hub recreates the Work at once: the agent may never see that it was gone.
		again := work.DeepCopy()
		again.ResourceVersion, again.UID, again.Finalizers = "", "", nil
		g.Eventually(func() error { return w.client.Create(t.Context(), again.DeepCopy()) }).
			WithTimeout(waitTimeout).WithPolling(time.Millisecond).Should(Succeed())
	}
	g.Eventually(held).WithTimeout(waitTimeout).Should(Equal(clusterv1alpha1.ReasonDeletionsWithdrawn))
	for _, work := range works {
		g.Expect(w.get(g, work.Name).DeletionTimestamp).To(BeNil())
	}
}

// TestTheBrakeOutlastsTheAgent checks that a restarted agent continues to hold.
func TestTheBrakeOutlastsTheAgent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newWorldWith(t, native.New(), "braked-before")
	braked := &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: w.cluster},
		Spec: clusterv1alpha1.ClusterSpec{
			SyncMode: clusterv1alpha1.Pull, DeletionBrake: &clusterv1alpha1.DeletionBrake{Objects: 100},
		},
	}
	since := metav1.NewTime(time.Now().Add(-time.Hour)).Rfc3339Copy()
	g.Expect(w.client.Create(t.Context(), braked)).To(Succeed())
	meta.SetStatusCondition(&braked.Status.Conditions, metav1.Condition{
		Type: clusterv1alpha1.ClusterDeletionsHeld, Status: metav1.ConditionTrue, LastTransitionTime: since,
		Reason: clusterv1alpha1.ReasonTooManyDeletions, Message: "held",
	})
	g.Expect(w.client.Status().Update(t.Context(), braked)).To(Succeed())

	again := &world{
		client: w.client, cluster: w.cluster, works: w.works + "-again", member: w.member,
		requests: &requests{}, reports: newReports(), events: &events{},
	}
	again.start(t, cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config, native.New())
	g.Eventually(func() bool { _, held := again.executor.Held(); return held }).WithTimeout(waitTimeout).Should(BeTrue())
	w.approve(t, since.Time)
	g.Eventually(func() metav1.ConditionStatus { c, _ := again.executor.Held(); return c.Status }).
		WithTimeout(waitTimeout).Should(Equal(metav1.ConditionFalse))
}
