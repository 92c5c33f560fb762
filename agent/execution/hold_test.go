package execution

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// endingWorks returns Works of one object each, all being deleted by the hub.
func endingWorks(n int) []workv1alpha1.Work {
	works := make([]workv1alpha1.Work, n)
	for i := range works {
		works[i].Name, works[i].UID = fmt.Sprint("work-", i), types.UID(fmt.Sprint(i))
		works[i].DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
		works[i].Annotations = map[string]string{contract.DeletionIntentAnnotation: contract.DeletionRemoved}
		works[i].Spec.Workload.Manifests = make([]workv1alpha1.Manifest, 1)
	}
	return works
}

// braked is a Cluster whose brake allows no deletion, with the conditions that a previous agent reported.
func braked(conditions ...metav1.Condition) *clusterv1alpha1.Cluster {
	c := &clusterv1alpha1.Cluster{Spec: clusterv1alpha1.ClusterSpec{DeletionBrake: &clusterv1alpha1.DeletionBrake{}}}
	for _, condition := range conditions {
		meta.SetStatusCondition(&c.Status.Conditions, condition)
	}
	return c
}

func TestAHoldEndsWhenNothingIsToBeDeletedAnyMore(t *testing.T) {
	t.Parallel()
	g, now := NewWithT(t), time.Unix(0, 0)
	b, works := newBrake(true), endingWorks(3)
	list := func() ([]workv1alpha1.Work, error) { return works, nil }
	b.Observe(braked())
	for i := range works {
		g.Expect(b.Pass(&works[i], 0, list, now)).To(BeFalse())
	}
	for i := range works {
		g.Expect(b.Withdraw(works)).To(BeFalse(), "others wait")
		g.Expect(b.Idle()).To(BeFalse())
		works[i].Annotations = nil
		b.Forget(client.ObjectKeyFromObject(&works[i]))
	}
	g.Expect(b.Idle()).To(BeTrue())
	g.Expect(b.Withdraw(endingWorks(1))).To(BeFalse(), "one is on its way that does not wait yet")
	g.Expect(b.Withdraw(works)).To(BeTrue())
	g.Expect(b.Withdraw(works)).To(BeFalse())
	said, ok := b.Condition()
	g.Expect(ok).To(BeTrue())
	g.Expect(said.Status).To(Equal(metav1.ConditionFalse))
	g.Expect(said.Reason).To(Equal(clusterv1alpha1.ReasonDeletionsWithdrawn))

	again := endingWorks(1)
	g.Expect(b.Pass(&again[0], 0, func() ([]workv1alpha1.Work, error) { return again, nil }, now)).To(BeFalse(), "it approves nothing")
	said, _ = b.Condition()
	g.Expect(said.Status).To(Equal(metav1.ConditionTrue))
}

// TestAHoldOfTheAgentBeforeEndsToo withdraws deletions that the previous agent held while no agent runs.
func TestAHoldOfTheAgentBeforeEndsToo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBrake(true)
	g.Expect(b.Idle()).To(BeFalse(), "nobody says that anything is held")
	b.Observe(braked(metav1.Condition{Type: clusterv1alpha1.ClusterDeletionsHeld, Status: metav1.ConditionTrue}))
	g.Expect(b.Idle()).To(BeTrue())
	stays := endingWorks(2)
	stays[0].Spec.PreserveResourcesOnDeletion = new(true)
	stays[1].Annotations = nil
	g.Expect(b.Withdraw(append(endingWorks(1), stays...))).To(BeFalse())
	g.Expect(b.Withdraw(stays)).To(BeTrue())
}

// TestTheBrakeCountsWhatGoesAlong checks that a Namespace whose deletion a person approved along with its contents
// counts with all the objects in it.
func TestTheBrakeCountsWhatGoesAlong(t *testing.T) {
	t.Parallel()
	g, now := NewWithT(t), time.Unix(0, 0)
	b, works := newBrake(true), endingWorks(3)
	for range 7 { // those that do not end
		works = append(works, workv1alpha1.Work{})
		works[len(works)-1].Spec.Workload.Manifests = make([]workv1alpha1.Manifest, 1)
	}
	list := func() ([]workv1alpha1.Work, error) { return works, nil }
	cluster := braked()
	cluster.Spec.DeletionBrake = &clusterv1alpha1.DeletionBrake{Objects: 4, Percent: 10}
	b.Observe(cluster)
	g.Expect(b.Pass(&works[0], 1, list, now)).To(BeTrue(), "4 of 10")
	g.Expect(b.Pass(&works[1], 1, list, now)).To(BeFalse(), "5 of 10")
	held, _ := b.Condition()
	g.Expect(held.Message).To(HavePrefix("5 of 10 objects"))
}

// TestTheBrakeCountsAnewWhatHadToWait checks that deletions that passed the brake, or were approved, and then waited
// for other Works are counted anew when those end.
func TestTheBrakeCountsAnewWhatHadToWait(t *testing.T) {
	t.Parallel()
	tests := map[string]func(g Gomega, b *brake, cluster *clusterv1alpha1.Cluster, work *workv1alpha1.Work, list func() ([]workv1alpha1.Work, error)){
		"let go": func(g Gomega, b *brake, _ *clusterv1alpha1.Cluster, work *workv1alpha1.Work, list func() ([]workv1alpha1.Work, error)) {
			g.Expect(b.Pass(work, 0, list, time.Unix(0, 0))).To(BeTrue())
		},
		"approved": func(g Gomega, b *brake, cluster *clusterv1alpha1.Cluster, work *workv1alpha1.Work, list func() ([]workv1alpha1.Work, error)) {
			g.Expect(b.Pass(work, 10, list, time.Unix(0, 0))).To(BeFalse())
			held, _ := b.Condition()
			cluster.Annotations = map[string]string{contract.DeletionsApprovedAnnotation: approval(held.LastTransitionTime)}
			b.Observe(cluster)
			g.Expect(b.Pass(work, 0, list, time.Unix(0, 0))).To(BeTrue())
		},
	}
	for name, before := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b, works := newBrake(true), endingWorks(1)
			list := func() ([]workv1alpha1.Work, error) { return works, nil }
			cluster := braked()
			cluster.Spec.DeletionBrake = &clusterv1alpha1.DeletionBrake{Objects: 4}
			b.Observe(cluster)
			before(g, b, cluster, &works[0], list)
			b.Reconsider(works[0].UID)
			works = endingWorks(5)
			g.Expect(b.Pass(&works[0], 0, list, time.Unix(1, 0))).To(BeFalse())
		})
	}
}
