package scheduler

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/test/builder"
)

// TestAWishIsAnsweredOnceByWhateverClock has somebody ask for a decision from scratch by a clock that is ahead, or not, of that of the hub.
func TestAWishIsAnsweredOnceByWhateverClock(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"behind": -time.Second, "a little ahead": skew / 2, "far ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			now := time.Unix(100_000, 0)
			c := builder.MakeCluster("m").Obj()
			c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Kind: "Deployment"}}}}
			c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterCompleteAPIEnablements, Status: metav1.ConditionTrue}}
			b := &workv1alpha2.ResourceBinding{
				Spec: workv1alpha2.ResourceBindingSpec{
					Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment"}, Replicas: 2,
					Placement:             &policyv1alpha1.Placement{},
					RescheduleTriggeredAt: new(metav1.NewTime(now.Add(ahead))),
				},
				Status: workv1alpha2.ResourceBindingStatus{LastScheduledTime: new(metav1.NewTime(now.Add(-time.Minute)))},
			}
			// look returns how often the wish is answered within some seconds.
			look := func() (answers int) {
				for range 5 {
					d := decide.Decide(decide.InputOf(b, decide.World{Clusters: []*clusterv1alpha1.Cluster{c}}))
					if d.Trigger == decide.TriggerRequested {
						answers++
					}
					_, err := record(b, d, metav1.NewTime(now))
					g.Expect(err).NotTo(HaveOccurred())
					now = now.Add(time.Second)
				}
				return answers
			}
			g.Expect(look()).To(Equal(1))
			g.Expect(b.Annotations[contract.RescheduleAnsweredAnnotation] != "").To(Equal(ahead >= skew), "only what the time of the decision does not say")

			// A decision for another reason, by a clock that was put right meanwhile.
			now = now.Add(-30 * time.Minute)
			b.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m"}}
			g.Expect(look()).To(BeZero())

			b.Spec.RescheduleTriggeredAt = new(metav1.NewTime(b.Spec.RescheduleTriggeredAt.Add(time.Second)))
			g.Expect(look()).To(Equal(1), "another wish is another one")

			// A wish that cannot be done stays open, and is looked at without a write of its own each time.
			b.Spec.Placement.ClusterAffinity.ClusterNames = []string{"gone"}
			b.Spec.RescheduleTriggeredAt = new(metav1.NewTime(b.Spec.RescheduleTriggeredAt.Add(time.Second)))
			g.Expect(look()).To(Equal(5))
			last := b.Status.LastScheduledTime.DeepCopy()
			g.Expect(look()).To(Equal(5))
			g.Expect(b.Status.LastScheduledTime).To(Equal(last))
			b.Spec.Placement.ClusterAffinity.ClusterNames = []string{"m"}
			g.Expect(look()).To(Equal(1), "when it can be done it is, once")
		})
	}
}
