package failover

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/test/builder"
)

// TestAClusterThatIsWrittenAllTheTimeHoldsUpNoOther has the agent of the first cluster make each write of the hub conflict.
func TestAClusterThatIsWrittenAllTheTimeHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	g, now := NewWithT(t), time.Now().Truncate(time.Second)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	names := []string{"edge-1", "edge-2", "edge-3"}
	var objects []client.Object
	for _, name := range names {
		c := builder.MakeCluster(name).Obj()
		c.Status.Conditions = []metav1.Condition{{
			Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionUnknown, Reason: clusterv1alpha1.ReasonClusterStatusUnknown, LastTransitionTime: metav1.NewTime(now),
		}}
		objects = append(objects, c)
	}
	busy := func(name string) error {
		if name == names[0] {
			return apierrors.NewConflict(schema.GroupResource{Group: clusterv1alpha1.GroupVersion.Group, Resource: "clusters"}, name, nil)
		}
		return nil
	}
	hub := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(objects...).Build(), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := busy(obj.GetName()); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
	})
	r := &disruptionReporter{hubClient: hub, events: func(eventsink.Event) {}, clock: clocktesting.NewFakeClock(now)}
	_, err = r.Reconcile(t.Context(), reconcile.Request{})
	g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
	for _, name := range names {
		c := &clusterv1alpha1.Cluster{}
		g.Expect(hub.Get(t.Context(), client.ObjectKey{Name: name}, c)).To(Succeed())
		g.Expect(meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterEvictionSuspended)).To(Equal(name != names[0]), name)
	}
}
