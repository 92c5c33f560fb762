package clusterstatus

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// TestASecondHoldHasATimeOfItsOwn has a second hold begin before the end of the first was reported.
func TestASecondHoldHasATimeOfItsOwn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := &clusterv1alpha1.Cluster{}
	for _, since := range []int64{1_700_000_000, 1_700_000_005} {
		held := metav1.Condition{
			Type: clusterv1alpha1.ClusterDeletionsHeld, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.ReasonTooManyDeletions,
			LastTransitionTime: metav1.Unix(since, 0),
		}
		r := &Reconciler{held: func() (metav1.Condition, bool) { return held, true }}
		r.setHeld(cluster)
		g.Expect(cluster.Status.Conditions).To(HaveLen(1))
		g.Expect(cluster.Status.Conditions[0].LastTransitionTime.Unix()).To(Equal(since))
	}
	ended := time.Now().Truncate(time.Second)
	r := &Reconciler{held: func() (metav1.Condition, bool) {
		return metav1.Condition{Type: clusterv1alpha1.ClusterDeletionsHeld, Status: metav1.ConditionFalse}, true
	}}
	r.setHeld(cluster)
	g.Expect(cluster.Status.Conditions[0].LastTransitionTime.Time).NotTo(BeTemporally("<", ended))
}

func TestAChangeOfWhatIsHeldAsksForAReport(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	changed := make(chan struct{}, 1)
	g.Expect(heldSource("edge", changed).Start(t.Context(), queue)).To(Succeed())
	for range 2 {
		changed <- struct{}{}
		request, _ := queue.Get()
		g.Expect(request.Name).To(Equal("edge"))
		queue.Done(request)
	}
}
