package failover

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/builder"
)

// TestAChangeOfAClusterIsOneVerdict has both controllers report every cluster of a region that falls silent, while
// bindings ask.
func TestAChangeOfAClusterIsOneVerdict(t *testing.T) {
	t.Parallel()
	const clusters = 50
	g, ctx := NewWithT(t), t.Context()
	now := time.Now().Truncate(time.Second)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	var objects []client.Object
	for i := range 2 * clusters {
		c := builder.MakeCluster(fmt.Sprintf("edge-%04d", i)).Obj()
		c.Status.Conditions = []metav1.Condition{{
			Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue, Reason: "ClusterReady", LastTransitionTime: metav1.NewTime(now),
		}}
		objects = append(objects, c)
	}
	hub, lists := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), 0
	v := disruption.NewVerdicts(func(ctx context.Context) ([]*clusterv1alpha1.Cluster, error) {
		lists++
		return kube.Clusters(ctx, hub)
	})
	kinds := []*reconciler{}
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		kinds = append(kinds, &reconciler{hubClient: hub, kind: kind, verdicts: v, clock: clocktesting.NewFakeClock(now)})
	}
	tell := func(before, after *clusterv1alpha1.Cluster) {
		for _, r := range kinds {
			r.onCluster().Update(ctx, event.UpdateEvent{ObjectOld: before, ObjectNew: after}, nil)
			_, err := v.Now(ctx, now)
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	for i := range clusters {
		before := &clusterv1alpha1.Cluster{}
		g.Expect(hub.Get(ctx, client.ObjectKey{Name: fmt.Sprintf("edge-%04d", i)}, before)).To(Succeed())
		silent := before.DeepCopy()
		silent.Status.Conditions[0].Status = metav1.ConditionUnknown
		g.Expect(hub.Update(ctx, silent)).To(Succeed())
		tell(before, silent)
		noted := silent.DeepCopy()
		noted.Status.Conditions = append(noted.Status.Conditions, metav1.Condition{Type: "CapacityJumped", Status: metav1.ConditionTrue})
		g.Expect(hub.Update(ctx, noted)).To(Succeed())
		tell(silent, noted)
	}
	g.Expect(lists).To(Equal(clusters))
}
