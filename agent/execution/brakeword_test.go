package execution

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// ending returns a dozen Works that the hub deletes, whose names and UIDs begin alike.
func ending(prefix string) []workv1alpha1.Work {
	works := endingWorks(12)
	for i := range works {
		works[i].Name, works[i].UID = prefix+works[i].Name, types.UID(prefix)+works[i].UID
	}
	return works
}

// TestNobodysWordIsKeptForLater ends a hold in each possible way, until nothing is left to delete, and then has the
// hub make a mistake: no earlier approval may apply.
func TestNobodysWordIsKeptForLater(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	limited := &clusterv1alpha1.DeletionBrake{Objects: 3, Percent: 20}
	of := func(limit *clusterv1alpha1.DeletionBrake) *clusterv1alpha1.Cluster {
		return &clusterv1alpha1.Cluster{Spec: clusterv1alpha1.ClusterSpec{DeletionBrake: limit}}
	}
	passes := func(g *WithT, b *brake, works []workv1alpha1.Work) bool {
		ok, err := b.Pass(&works[0], 0, func() ([]workv1alpha1.Work, error) { return works, nil }, now)
		g.Expect(err).NotTo(HaveOccurred())
		return ok
	}
	heldBefore := func(limit *clusterv1alpha1.DeletionBrake) *clusterv1alpha1.Cluster {
		c := of(limit)
		since := metav1.NewTime(now).Rfc3339Copy()
		c.Annotations = map[string]string{contract.DeletionsApprovedAnnotation: approval(since)}
		c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterDeletionsHeld, Status: metav1.ConditionTrue, LastTransitionTime: since}}
		return c
	}
	for name, end := range map[string]func(g *WithT, b *brake){
		"the brake is taken off and put on again": func(g *WithT, b *brake) {
			b.Observe(of(limited))
			first := ending("first-")
			g.Expect(passes(g, b, first)).To(BeFalse())
			b.Observe(of(&clusterv1alpha1.DeletionBrake{Percent: 100}))
			g.Expect(passes(g, b, first)).To(BeTrue())
			b.Observe(of(limited))
		},
		"the agent ended when all had gone": func(_ *WithT, b *brake) {
			b.Observe(heldBefore(limited))
			b.Recount(nil, now)
			b.Observe(of(limited))
		},
		"the word is heard by an agent without a brake": func(_ *WithT, b *brake) {
			b.Observe(heldBefore(&clusterv1alpha1.DeletionBrake{Percent: 100}))
			b.Observe(of(limited))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := newBrake(true)
			end(g, b)
			g.Expect(passes(g, b, ending("later-"))).To(BeFalse(), "that was approved by nobody")
		})
	}
}

// TestAWordIsForWhatIsToBeDeletedWhenItIsHeard has further Works end after the approval was observed.
func TestAWordIsForWhatIsToBeDeletedWhenItIsHeard(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBrake(true)
	cluster := &clusterv1alpha1.Cluster{Spec: clusterv1alpha1.ClusterSpec{DeletionBrake: &clusterv1alpha1.DeletionBrake{Objects: 3, Percent: 20}}}
	b.Observe(cluster)
	works := ending("first-")
	list := func() ([]workv1alpha1.Work, error) { return works, nil }
	ok, err := b.Pass(&works[0], 0, list, time.Unix(1_700_000_000, 0))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ok).To(BeFalse())
	cluster.Annotations = map[string]string{contract.DeletionsApprovedAnnotation: approval(b.held.since())}
	g.Expect(b.Observe(cluster)).To(HaveLen(1))

	later := ending("later-")
	works = append(works, later...)
	ok, err = b.Pass(&works[0], 0, list, time.Unix(1_700_000_001, 0))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ok).To(BeTrue(), "it was there when the word was heard")
	ok, err = b.Pass(&later[0], 0, list, time.Unix(1_700_000_001, 0))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ok).To(BeFalse(), "it was not")
}

// TestTheWordOfAnOperatorIsTakenWhenItIsHeard starts an agent on a Cluster that has an approval and nothing to
// delete, and then deletes much at once.
func TestTheWordOfAnOperatorIsTakenWhenItIsHeard(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := fakeClient(t, interceptor.Funcs{})
	r := &Reconciler{
		brake: newBrake(true), hubClient: hub, works: newWorks(hub, nil), metrics: newMetrics(prometheus.NewRegistry()), namespace: ownWorks,
		clock: clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0)),
	}
	since := metav1.NewTime(time.Unix(1_700_000_000, 0)).Rfc3339Copy()
	cluster := &clusterv1alpha1.Cluster{Spec: clusterv1alpha1.ClusterSpec{DeletionBrake: &clusterv1alpha1.DeletionBrake{Objects: 3, Percent: 20}}}
	cluster.Annotations = map[string]string{contract.DeletionsApprovedAnnotation: approval(since)}
	cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterDeletionsHeld, Status: metav1.ConditionTrue, LastTransitionTime: since}}
	r.brake.Observe(cluster)
	g.Expect(r.recount(t.Context())).To(Succeed())
	held, _ := r.brake.Condition()
	g.Expect(held.Status).To(Equal(metav1.ConditionTrue), "the hub was not heard: what is to be deleted is not known")
	r.works.hubSynced = true
	g.Expect(r.recount(t.Context())).To(Succeed())
	held, _ = r.brake.Condition()
	g.Expect(held.Status).To(Equal(metav1.ConditionFalse))
	cluster.Status.Conditions = nil
	r.brake.Observe(cluster)

	later := ending("later-")
	ok, err := r.brake.Pass(&later[0], 0, func() ([]workv1alpha1.Work, error) { return later, nil }, since.Time)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ok).To(BeFalse())
}

// TestTheWordForOneHoldLetsNoOtherGo has a second wave of deletions follow right after the first was approved, and
// restarts the agent.
func TestTheWordForOneHoldLetsNoOtherGo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Unix(1_700_000_000, 0)
	cluster := &clusterv1alpha1.Cluster{Spec: clusterv1alpha1.ClusterSpec{DeletionBrake: &clusterv1alpha1.DeletionBrake{Objects: 3, Percent: 20}}}
	works := ending("first-")
	passes := func(b *brake, work *workv1alpha1.Work) bool {
		ok, err := b.Pass(work, 0, func() ([]workv1alpha1.Work, error) { return works, nil }, now)
		g.Expect(err).NotTo(HaveOccurred())
		return ok
	}
	tell := func(b *brake) { // as clusterstatus does
		held, _ := b.Condition()
		cluster.Status.Conditions = []metav1.Condition{held}
		b.Observe(cluster)
	}
	b := newBrake(true)
	b.Observe(cluster)
	g.Expect(passes(b, &works[0])).To(BeFalse())
	tell(b)
	approved := approval(b.held.since())
	cluster.Annotations = map[string]string{contract.DeletionsApprovedAnnotation: approved}
	b.Observe(cluster)
	g.Expect(passes(b, &works[0])).To(BeFalse(), "an agent that is killed now finds the same word")
	cluster.Annotations = nil
	b.Observe(cluster)
	held, _ := b.Condition()
	g.Expect(held.Status).To(Equal(metav1.ConditionTrue), "it was taken back in time")
	cluster.Annotations = map[string]string{contract.DeletionsApprovedAnnotation: approved}
	b.Observe(cluster)
	tell(b)
	g.Expect(passes(b, &works[0])).To(BeTrue())

	second := ending("second-")
	works = append(works, second...)
	g.Expect(passes(b, &second[0])).To(BeFalse())
	g.Expect(approval(b.held.since())).NotTo(Equal(approved), "though it is within the same second")
	b.Observe(cluster)
	g.Expect(passes(b, &second[0])).To(BeFalse())
	again := newBrake(true)
	again.Observe(cluster)
	g.Expect(passes(again, &second[0])).To(BeFalse(), "the Cluster was not told of the second hold yet")
	works = second // the others have gone

	// An agent of an earlier version left the time of the first hold with the message of the second.
	since := b.held.since()
	held, _ = b.Condition()
	held.LastTransitionTime = metav1.NewTime(now)
	cluster.Status.Conditions = []metav1.Condition{held}
	again = newBrake(true)
	again.Observe(cluster)
	g.Expect(passes(again, &second[0])).To(BeFalse())
	again.Recount(works, now)
	g.Expect(passes(again, &second[0])).To(BeFalse())
	cluster.Annotations[contract.DeletionsApprovedAnnotation] = approval(since)
	again.Observe(cluster)
	again.Recount(works, now)
	tell(again)
	g.Expect(passes(again, &second[0])).To(BeTrue(), "it takes the word that it asks for")
}

// TestEveryChangeOfAHoldIsTold has one begin, be approved, held on to and withdrawn.
func TestEveryChangeOfAHoldIsTold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b, works := newBrake(true), ending("")
	changes := func() bool {
		select {
		case <-b.changed:
			return true
		default:
			return false
		}
	}
	cluster := &clusterv1alpha1.Cluster{Spec: clusterv1alpha1.ClusterSpec{DeletionBrake: &clusterv1alpha1.DeletionBrake{Objects: 3, Percent: 20}}}
	b.Observe(cluster)
	g.Expect(changes()).To(BeFalse())
	for i := range 2 {
		_, err := b.Pass(&works[i], 0, func() ([]workv1alpha1.Work, error) { return works, nil }, time.Unix(1_700_000_000, 0))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(changes()).To(Equal(i == 0), "it is one hold")
	}
	held, _ := b.Condition()
	cluster.Status.Conditions = []metav1.Condition{held}
	for _, said := range []string{approval(b.held.since()), ""} {
		cluster.Annotations = map[string]string{contract.DeletionsApprovedAnnotation: said}
		b.Observe(cluster)
		g.Expect(changes()).To(BeTrue())
		b.Observe(cluster)
		g.Expect(changes()).To(BeFalse(), "nothing new was said")
	}
	for i := range works {
		b.Forget(types.NamespacedName{Name: works[i].Name})
	}
	g.Expect(b.Withdraw(nil)).To(BeTrue())
	g.Expect(changes()).To(BeTrue())
}
