package cluster

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/test/builder"
)

// heartbeats is the stage with one healthy Cluster.
type heartbeats struct {
	*Reconciler

	hub    client.WithWatch
	clock  *clocktesting.FakeClock
	writes int
}

func newHeartbeats(tb testing.TB) *heartbeats {
	tb.Helper()
	g := NewWithT(tb)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	h := &heartbeats{clock: clocktesting.NewFakeClock(time.Now().Truncate(time.Second))}
	c := builder.MakeCluster("edge-1").Obj()
	c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.ReasonClusterReady, LastTransitionTime: metav1.NewTime(h.clock.Now())}}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: "edge-1"}}
	h.hub = fake.NewClientBuilder().WithScheme(scheme).WithObjects(c, lease).WithStatusSubresource(c).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			h.writes++
			return c.Patch(ctx, obj, patch, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			h.writes++
			return c.Create(ctx, obj, opts...)
		},
	}).Build()
	h.Reconciler, err = New(h.hub, h.hub, Deps{ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix, Clock: h.clock, Events: func(eventsink.Event) {}})
	g.Expect(err).NotTo(HaveOccurred())
	return h
}

// beat reconciles after a lease renewal, and returns how often the stage wrote.
func (h *heartbeats) beat(tb testing.TB) int {
	tb.Helper()
	g := NewWithT(tb)
	h.clock.SetTime(h.clock.Now().Add(10 * time.Second))
	lease := &coordinationv1.Lease{}
	g.Expect(h.hub.Get(tb.Context(), client.ObjectKey{Namespace: contract.ClusterNamespace, Name: "edge-1"}, lease)).To(Succeed())
	lease.Spec.RenewTime = new(metav1.NewMicroTime(h.clock.Now()))
	g.Expect(h.hub.Update(tb.Context(), lease)).To(Succeed())
	before := h.writes
	result, err := h.Reconcile(tb.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "edge-1"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(BeNumerically(">", 0), "it looks whether the next comes")
	return h.writes - before
}

func TestAHeartbeatThatChangesNothingCostsNothing(t *testing.T) {
	t.Parallel()
	g, h, ctx := NewWithT(t), newHeartbeats(t), t.Context()
	g.Expect(h.beat(t)).To(BeNumerically(">", 0), "finalizer and namespace are made")
	for range 3 {
		h.beat(t)
	}
	has := &clusterv1alpha1.Cluster{}
	read := func() *clusterv1alpha1.Cluster {
		g.Expect(h.hub.Get(ctx, client.ObjectKey{Name: "edge-1"}, has)).To(Succeed())
		return has
	}
	versions, err := h.policyVersions(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(h.states.recordedLately(read(), versions, h.clock.Now())).To(BeTrue())
	g.Expect(h.beat(t)).To(BeZero())

	// Anything new is noticed at the next heartbeat, though that only says that the agent is alive.
	taint := &policyv1alpha1.ClusterTaintPolicy{ObjectMeta: metav1.ObjectMeta{Name: "all"}}
	taint.Spec.AddOnConditions = []policyv1alpha1.MatchCondition{{ConditionType: clusterv1alpha1.ClusterReady, Operator: policyv1alpha1.MatchConditionIn, StatusValues: []metav1.ConditionStatus{metav1.ConditionTrue}}}
	taint.Spec.Taints = []policyv1alpha1.ClusterTaint{{Key: "example.com/new", Effect: corev1.TaintEffectNoSchedule}}
	g.Expect(h.hub.Create(ctx, taint)).To(Succeed())
	h.beat(t)
	g.Expect(read().Spec.Taints).To(ContainElement(HaveField("Key", "example.com/new")))

	h.beat(t)
	g.Expect(h.hub.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "karmada-es-edge-1"}})).To(Succeed())
	h.beat(t)
	g.Expect(h.hub.Get(ctx, client.ObjectKey{Name: "karmada-es-edge-1"}, &corev1.Namespace{})).To(Succeed(), "it is made again")

	h.beat(t)
	changed := read().DeepCopy()
	changed.Spec.Taints, changed.Finalizers = nil, nil
	g.Expect(h.hub.Update(ctx, changed)).To(Succeed())
	h.beat(t)
	g.Expect(read().Finalizers).To(ContainElement(contract.ClusterFinalizer), "what somebody changed is put right")
	g.Expect(has.Spec.Taints).To(ContainElement(HaveField("Key", "example.com/new")))

	h.clock.SetTime(h.clock.Now().Add(recordAgain))
	versions, err = h.policyVersions(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(h.states.recordedLately(read(), versions, h.clock.Now())).To(BeFalse(), "time passes, too")
}

// still reads as a cache does, without copying.
type still struct {
	client.Client

	cluster   *clusterv1alpha1.Cluster
	lease     *coordinationv1.Lease
	namespace *corev1.Namespace
}

func (s still) Get(_ context.Context, _ client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	switch out := obj.(type) {
	case *clusterv1alpha1.Cluster:
		if len(opts) > 0 {
			*out = *s.cluster
		} else {
			s.cluster.DeepCopyInto(out)
		}
	case *coordinationv1.Lease:
		s.lease.DeepCopyInto(out)
	case *corev1.Namespace:
		s.namespace.DeepCopyInto(out)
	}
	return nil
}

func (still) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// BenchmarkHeartbeat measures a lease renewal of a Cluster with a usual number of APIs.
func BenchmarkHeartbeat(b *testing.B) {
	h := newHeartbeats(b)
	for range 3 {
		h.beat(b)
	}
	s := still{cluster: &clusterv1alpha1.Cluster{}, lease: &coordinationv1.Lease{}, namespace: &corev1.Namespace{}}
	if err := h.hub.Get(b.Context(), client.ObjectKey{Name: "edge-1"}, s.cluster); err != nil {
		b.Fatal(err)
	}
	for range 30 {
		one := clusterv1alpha1.APIEnablement{GroupVersion: "example.com/v1"}
		for range 5 {
			one.Resources = append(one.Resources, clusterv1alpha1.APIResource{Name: "things", Kind: "Thing"})
		}
		s.cluster.Status.APIEnablements = append(s.cluster.Status.APIEnablements, one)
	}
	h.hubClient, h.hubReader = s, s
	b.ReportAllocs()
	for b.Loop() {
		s.lease.Spec.RenewTime = new(metav1.NewMicroTime(h.clock.Now()))
		if _, err := h.Reconcile(b.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "edge-1"}}); err != nil {
			b.Fatal(err)
		}
	}
}
