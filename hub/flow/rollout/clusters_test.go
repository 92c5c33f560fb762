package rollout

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/rollout/admit"
	"fairlead.dev/test/filled"
)

// looking returns a reconciler that only gathers rollouts.
func looking(hub client.Client) *reconciler {
	return &reconciler{
		hubClient: hub, kind: kube.ResourceBindings(), clock: clock.RealClock{}, silence: disruption.DefaultSilence,
		reconnects: &disruption.Reconnects{},
		verdicts:   disruption.NewVerdicts(func(ctx context.Context) ([]*clusterv1alpha1.Cluster, error) { return kube.Clusters(ctx, hub) }),
	}
}

// look reads the clusters of a rollout that has one cluster.
func look(ctx context.Context, r *reconciler, size filled.Fleet) (*scope, error) {
	s := &scope{binding: size.Binding(0), memory: &memory{}, in: admit.Input{Now: r.clock.Now()}}
	return s, r.readClusters(ctx, s)
}

// TestALookAtARolloutReadsNoOtherClusters checks that all clusters are listed only once while nothing changes, and that changes are seen.
func TestALookAtARolloutReadsNoOtherClusters(t *testing.T) {
	t.Parallel()
	g, ctx := NewWithT(t), t.Context()
	size := filled.Fleet{Clusters: 6, Bindings: 1}
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	var objects []client.Object
	for i := range size.Clusters {
		c := size.Cluster(i)
		c.ResourceVersion = ""
		objects = append(objects, c)
	}
	lists := 0
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&clusterv1alpha1.Cluster{}).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*clusterv1alpha1.ClusterList); ok {
				lists++
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	r := looking(hub)
	now := r.clock.Now()
	for range 100 {
		s, err := look(ctx, r, size)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(s.in.HubSuspect).To(BeFalse())
		g.Expect(s.in.Clusters).To(HaveLen(1))
		g.Expect(s.in.Clusters[0].Cluster.Name).To(Equal(size.ClusterOf(0)))
		g.Expect(s.in.Clusters[0].Gone).To(BeFalse())
	}
	g.Expect(lists).To(BeNumerically("<=", 1+int(time.Since(now)/time.Second)))

	for i := range 5 { // the rollout is in the first of them
		before := &clusterv1alpha1.Cluster{}
		g.Expect(hub.Get(ctx, client.ObjectKey{Name: filled.ClusterName(i)}, before)).To(Succeed())
		silent := before.DeepCopy()
		silent.Status.Conditions[0].Status, silent.Status.Conditions[0].LastTransitionTime = metav1.ConditionUnknown, metav1.NewTime(now)
		g.Expect(hub.Status().Update(ctx, silent)).To(Succeed())
		r.onCluster().Update(ctx, event.UpdateEvent{ObjectOld: before, ObjectNew: silent}, nil)
		s, err := look(ctx, r, size)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(s.in.HubSuspect).To(Equal(i >= 3), "%d of 6 are silent", i+1)
		g.Expect(s.in.Clusters[0].Unconfirmed).To(Equal(i >= 3))
		g.Expect(s.in.Clusters[0].SilentSince.IsZero()).To(BeFalse())
	}
	for i := range 5 {
		gone := &clusterv1alpha1.Cluster{}
		g.Expect(hub.Get(ctx, client.ObjectKey{Name: filled.ClusterName(i)}, gone)).To(Succeed())
		gone.Finalizers = nil
		g.Expect(hub.Update(ctx, gone)).To(Succeed())
		g.Expect(hub.Delete(ctx, gone)).To(Succeed())
		r.onCluster().Delete(ctx, event.DeleteEvent{Object: gone}, nil)
	}
	s, err := look(ctx, r, size)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.in.HubSuspect).To(BeFalse(), "the one that is left is heard from")
	g.Expect(s.in.Clusters[0].Gone).To(BeTrue())
}

// TestASoakWaitsForMembersThatComeBackToAHubThatStarted checks that a wave which soaked before the hub started is not judged before the
// cluster stage knows which clusters are silent.
func TestASoakWaitsForMembersThatComeBackToAHubThatStarted(t *testing.T) {
	t.Parallel()
	g, ctx := NewWithT(t), t.Context()
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	size := filled.Fleet{Clusters: 1, Bindings: 1}
	lost := size.Cluster(0)
	clk := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	began := clk.Now()
	lost.Status.Conditions[0].Status, lost.Status.Conditions[0].Reason = metav1.ConditionUnknown, clusterv1alpha1.ReasonAgentDisconnected
	lost.Status.Conditions[0].LastTransitionTime = metav1.NewTime(began.Add(-time.Second))
	r := looking(fake.NewClientBuilder().WithScheme(scheme).WithObjects(lost).Build())
	r.clock = clk
	s, err := look(ctx, r, size)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.in.Heard).To(Equal(began.Add(time.Minute + disruption.Wait)))
	clk.SetTime(began.Add(70 * time.Second))
	s, err = look(ctx, r, size)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.in.Clusters[0].Early).To(BeFalse())

	r.reconnects.Note(clk.Now())
	s, err = look(ctx, r, size)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.in.Heard).To(Equal(began.Add(100*time.Second + disruption.Wait)))
	g.Expect(s.in.Clusters[0].Early).To(BeTrue())
	g.Expect(s.again).To(Equal(30 * time.Second))
}

// BenchmarkClustersOfARollout measures reading the clusters of a rollout with one cluster, as after each report: it must not depend on the
// size of the fleet.
func BenchmarkClustersOfARollout(b *testing.B) {
	for _, size := range []filled.Fleet{{Clusters: 1250, Bindings: 1}, {Clusters: 5000, Bindings: 1}} {
		var objects []client.Object
		for i := range size.Clusters {
			objects = append(objects, size.Cluster(i))
		}
		r := looking(filled.New(b, cache.Options{}, objects...).Client)
		b.Run(fmt.Sprint(size.Clusters), func(b *testing.B) {
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				if _, err := look(b.Context(), r, size); err != nil {
					b.Fatal(err)
				}
			}
			cpu()
		})
	}
}
