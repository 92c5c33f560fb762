package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/test/builder"
	testcluster "fairlead.dev/test/cluster"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

// hub is the stage with a clock and an event recorder, on a real API server.
type hub struct {
	client.Client
	g     *WithT
	r     *Reconciler
	clock *clocktesting.FakeClock
	name  string

	mu     sync.Mutex
	events []eventsink.Event
}

// newHub returns a stage that reconciles one Cluster, named after the test.
func newHub(t *testing.T, name string) *hub {
	t.Helper()
	h := &hub{
		Client: testcluster.Shared(t, testcluster.Options{Profile: testcluster.Hub}).Client(t),
		g:      NewWithT(t), clock: clocktesting.NewFakeClock(time.Now()), name: name,
	}
	h.restart(h.Client)
	h.g.Expect(h.Create(t.Context(), builder.MakeCluster(name).Obj())).To(Succeed())
	return h
}

// restart discards the stage's memory.
func (h *hub) restart(c client.Client) {
	r, err := New(c, c, Deps{ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix, Clock: h.clock, Events: func(e eventsink.Event) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.events = append(h.events, e)
	}})
	h.g.Expect(err).NotTo(HaveOccurred())
	h.r = r
}

func (h *hub) try(ctx context.Context) (ctrl.Result, error) {
	return kube.QuietConflicts(h.r).Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: h.name}})
}

func (h *hub) reconcile(ctx context.Context) ctrl.Result {
	result, err := h.try(ctx)
	h.g.ExpectWithOffset(1, err).NotTo(HaveOccurred())
	return result
}

func (h *hub) cluster(ctx context.Context) *clusterv1alpha1.Cluster {
	out := &clusterv1alpha1.Cluster{}
	h.g.ExpectWithOffset(1, h.Get(ctx, client.ObjectKey{Name: h.name}, out)).To(Succeed())
	return out
}

func (h *hub) namespace() string {
	return contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, h.name)
}

func (h *hub) report(ctx context.Context, status metav1.ConditionStatus) {
	cluster := h.cluster(ctx)
	meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
		Type: clusterv1alpha1.ClusterReady, Status: status, Reason: "Reported", Message: "the member says so",
		LastTransitionTime: metav1.NewTime(h.clock.Now()),
	})
	h.g.ExpectWithOffset(1, h.Status().Update(ctx, cluster)).To(Succeed())
}

func (h *hub) renew(ctx context.Context) {
	key := client.ObjectKey{Namespace: contract.ClusterNamespace, Name: h.name}
	lease := &coordinationv1.Lease{}
	now := metav1.NowMicro()
	if err := h.Get(ctx, key, lease); apierrors.IsNotFound(err) {
		err := h.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace}})
		h.g.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
		lease.Namespace, lease.Name, lease.Spec.RenewTime = key.Namespace, key.Name, &now
		h.g.Expect(h.Create(ctx, lease)).To(Succeed())
		return
	}
	lease.Spec.RenewTime = &now
	h.g.ExpectWithOffset(1, h.Update(ctx, lease)).To(Succeed())
}

func (h *hub) ready(ctx context.Context) *metav1.Condition {
	return meta.FindStatusCondition(h.cluster(ctx).Status.Conditions, clusterv1alpha1.ClusterReady)
}

func (h *hub) taints(ctx context.Context) []string {
	out := []string{}
	for _, t := range h.cluster(ctx).Spec.Taints {
		h.g.Expect(t.TimeAdded).NotTo(BeNil())
		out = append(out, t.Key+":"+string(t.Effect))
	}
	return out
}

func (h *hub) reasons(eventType string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []string{}
	for _, e := range h.events {
		if e.Type == eventType {
			out = append(out, e.Reason)
		}
	}
	return out
}

func (h *hub) work(ctx context.Context, name string) *workv1alpha1.Work {
	work := builder.MakeWork(h.name, name).Obj()
	work.Finalizers = []string{contract.ExecutionFinalizer}
	h.g.ExpectWithOffset(1, h.Create(ctx, work)).To(Succeed())
	return work
}

const (
	notReadyTaint    = contract.TaintClusterNotReady + ":NoSchedule"
	unreachableTaint = contract.TaintClusterUnreachable + ":NoSchedule"
)

func TestANewClusterIsPreparedAndTaintedOnce(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t, "new"), t.Context()
	result := h.reconcile(ctx)
	h.g.Expect(result.RequeueAfter).To(Equal(DefaultStartupGracePeriod))

	cluster := h.cluster(ctx)
	h.g.Expect(cluster.Finalizers).To(ConsistOf(contract.ClusterFinalizer))
	h.g.Expect(cluster.Annotations).To(HaveKeyWithValue(contract.ExecutionNamespaceAnnotation, "karmada-es-new"))
	h.g.Expect(h.taints(ctx)).To(ConsistOf(notReadyTaint))
	namespace := &corev1.Namespace{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Name: "karmada-es-new"}, namespace)).To(Succeed())
	h.g.Expect(namespace.Labels).To(HaveKeyWithValue(contract.SystemLabel, contract.LabelTrue))
	h.g.Expect(namespace.Labels).To(HaveKeyWithValue(contract.ExecutionNamespaceOfLabel, "new"))
	h.g.Expect(h.reasons(corev1.EventTypeNormal)).To(Equal([]string{"TaintClusterSucceed", "CreateExecutionSpaceSucceed"}))
	h.g.Expect(h.reasons(corev1.EventTypeWarning)).To(BeEmpty())

	h.reconcile(ctx)
	h.restart(h.Client)
	h.reconcile(ctx)
	h.g.Expect(h.cluster(ctx).ResourceVersion).To(Equal(cluster.ResourceVersion), "nothing is written when nothing changes")
	h.g.Expect(h.events).To(HaveLen(2))
}

// TestAnExecutionNamespaceOfBeforeIsMarked checks that admission recognizes an execution namespace created by an
// earlier hub, which did not label them.
func TestAnExecutionNamespaceOfBeforeIsMarked(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t, "unmarked"), t.Context()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.namespace(), Labels: map[string]string{"mine": "x"}}}
	h.g.Expect(h.Create(ctx, namespace)).To(Succeed())
	h.reconcile(ctx)
	h.g.Expect(h.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)).To(Succeed())
	h.g.Expect(namespace.Labels).To(And(HaveKeyWithValue(contract.ExecutionNamespaceOfLabel, "unmarked"), HaveKeyWithValue("mine", "x")))

	h.reconcile(ctx)
	marked := namespace.ResourceVersion
	h.g.Expect(h.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)).To(Succeed())
	h.g.Expect(namespace.ResourceVersion).To(Equal(marked), "once is enough")
}

func TestASilentMemberIsUnknownUntilItReportsAgain(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t, "silent"), t.Context()
	h.renew(ctx)
	h.report(ctx, metav1.ConditionTrue)
	h.reconcile(ctx)
	h.g.Expect(h.taints(ctx)).To(BeEmpty())

	h.clock.SetTime(h.clock.Now().Add(30 * time.Second))
	h.renew(ctx)
	h.g.Expect(h.reconcile(ctx).RequeueAfter).To(Equal(DefaultGracePeriod), "a renewal starts the grace period over")

	h.clock.SetTime(h.clock.Now().Add(DefaultGracePeriod))
	h.reconcile(ctx)
	ready := h.ready(ctx)
	h.g.Expect(ready.Status).To(Equal(metav1.ConditionUnknown))
	h.g.Expect(ready.Reason).To(Equal("ClusterStatusUnknown"))
	h.g.Expect(ready.Message).To(Equal("Cluster status controller stopped posting cluster status."))
	h.g.Expect(h.taints(ctx)).To(ConsistOf(unreachableTaint))
	h.g.Expect(h.reasons(corev1.EventTypeWarning)).To(Equal([]string{"ClusterStatusUnknown"}))

	before := h.cluster(ctx).ResourceVersion
	h.reconcile(ctx)
	h.g.Expect(h.cluster(ctx).ResourceVersion).To(Equal(before))

	h.report(ctx, metav1.ConditionFalse)
	h.reconcile(ctx)
	h.g.Expect(h.taints(ctx)).To(ConsistOf(notReadyTaint))
	h.report(ctx, metav1.ConditionTrue)
	h.reconcile(ctx)
	h.g.Expect(h.taints(ctx)).To(BeEmpty())
}

func TestAMemberThatComesAndGoesKeepsItsTaintsForAWhile(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t, "flapping"), t.Context()
	for range 2 {
		h.renew(ctx)
		h.report(ctx, metav1.ConditionTrue)
		h.reconcile(ctx)
		h.g.Expect(h.taints(ctx)).To(BeEmpty())
		h.clock.SetTime(h.clock.Now().Add(DefaultGracePeriod))
		h.reconcile(ctx)
		h.g.Expect(h.taints(ctx)).To(ConsistOf(unreachableTaint))
		h.clock.SetTime(h.clock.Now().Add(time.Second))
	}
	h.report(ctx, metav1.ConditionTrue)
	h.g.Expect(h.reconcile(ctx).RequeueAfter).To(Equal(30 * time.Second))
	h.g.Expect(h.taints(ctx)).To(ConsistOf(unreachableTaint), "it was silent twice")
	h.g.Expect(h.reasons(corev1.EventTypeWarning)).To(ContainElement("ClusterFlapping"))
	h.clock.SetTime(h.clock.Now().Add(30 * time.Second))
	h.reconcile(ctx)
	h.g.Expect(h.taints(ctx)).To(BeEmpty())
}

func TestPoliciesTaintAClusterByItsConditions(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t, "by-policy"), t.Context()
	policy := &policyv1alpha1.ClusterTaintPolicy{ObjectMeta: metav1.ObjectMeta{Name: "by-policy"}, Spec: policyv1alpha1.ClusterTaintPolicySpec{
		TargetClusters: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"by-policy"}},
		AddOnConditions: []policyv1alpha1.MatchCondition{{
			ConditionType: "Ready", Operator: policyv1alpha1.MatchConditionNotIn, StatusValues: []metav1.ConditionStatus{"True"},
		}},
		RemoveOnConditions: []policyv1alpha1.MatchCondition{{
			ConditionType: "Ready", Operator: policyv1alpha1.MatchConditionIn, StatusValues: []metav1.ConditionStatus{"True"},
		}},
		Taints: []policyv1alpha1.ClusterTaint{{Key: "lost", Effect: corev1.TaintEffectNoExecute}},
	}}
	h.g.Expect(h.Create(ctx, policy)).To(Succeed())
	t.Cleanup(func() { _ = h.Delete(context.Background(), policy) })
	h.renew(ctx)
	h.report(ctx, metav1.ConditionTrue)
	h.reconcile(ctx)
	h.g.Expect(h.taints(ctx)).To(BeEmpty())

	h.clock.SetTime(h.clock.Now().Add(DefaultGracePeriod))
	before := h.cluster(ctx).Generation
	h.reconcile(ctx)
	h.g.Expect(h.taints(ctx)).To(ConsistOf(unreachableTaint, "lost:NoExecute"))
	h.g.Expect(h.cluster(ctx).Generation).To(Equal(before+1), "both in one write")

	h.report(ctx, metav1.ConditionTrue)
	h.reconcile(ctx)
	h.g.Expect(h.taints(ctx)).To(BeEmpty())
}

func TestALeaseThatTheCacheMissesIsNoSilence(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t, "lagging"), t.Context()
	h.renew(ctx)
	h.report(ctx, metav1.ConditionTrue)
	stale := &coordinationv1.Lease{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: h.name}, stale)).To(Succeed())
	h.r.hubClient = interceptor.NewClient(watching(t), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if lease, ok := obj.(*coordinationv1.Lease); ok {
				stale.DeepCopyInto(lease)
				return nil
			}
			return c.Get(ctx, key, obj, opts...)
		},
	})
	h.reconcile(ctx)
	h.renew(ctx)
	h.clock.SetTime(h.clock.Now().Add(DefaultGracePeriod))
	h.reconcile(ctx)
	h.g.Expect(h.ready(ctx).Status).To(Equal(metav1.ConditionTrue))
}

// An agent writes the duration given by --cluster-lease-duration into its lease, plus ten minutes while its line is the
// sign of life.
func TestAnAgentThatRenewsItsLeaseRarelyIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, seconds := range map[string]int32{"patient": 180, "patient-resting": 780} {
		h, ctx := newHub(t, name), t.Context()
		h.renew(ctx)
		lease := &coordinationv1.Lease{}
		h.g.Expect(h.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: h.name}, lease)).To(Succeed())
		lease.Spec.LeaseDurationSeconds = &seconds
		h.g.Expect(h.Update(ctx, lease)).To(Succeed())
		h.report(ctx, metav1.ConditionTrue)
		h.reconcile(ctx)
		h.clock.SetTime(h.clock.Now().Add(179 * time.Second))
		h.reconcile(ctx)
		h.g.Expect(h.ready(ctx).Status).To(Equal(metav1.ConditionTrue), name)
		h.clock.SetTime(h.clock.Now().Add(time.Second))
		h.reconcile(ctx)
		h.g.Expect(h.ready(ctx).Status).To(Equal(metav1.ConditionUnknown), name)
	}
}

func TestAHubThatCannotReadGivesItsMembersAnotherChance(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t, "outage"), t.Context()
	h.renew(ctx)
	h.report(ctx, metav1.ConditionTrue)
	h.reconcile(ctx)
	down := true
	h.r.hubReader = interceptor.NewClient(watching(t), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if down {
				return errors.New("connection refused")
			}
			return c.Get(ctx, key, obj, opts...)
		},
	})
	h.clock.SetTime(h.clock.Now().Add(DefaultGracePeriod))
	_, err := h.try(ctx)
	h.g.Expect(err).To(HaveOccurred())

	down = false
	h.clock.SetTime(h.clock.Now().Add(time.Second))
	h.reconcile(ctx)
	h.g.Expect(h.ready(ctx).Status).To(Equal(metav1.ConditionTrue))
	h.clock.SetTime(h.clock.Now().Add(DefaultGracePeriod))
	h.reconcile(ctx)
	h.g.Expect(h.ready(ctx).Status).To(Equal(metav1.ConditionUnknown))
}

func TestCreationAndDeletionOfANamespaceWakeTheStage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	stays, goes := &corev1.Namespace{}, &corev1.Namespace{}
	goes.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	p := createdOrDeleted()
	g.Expect(p.Create(event.CreateEvent{Object: stays})).To(BeTrue())
	g.Expect(p.Delete(event.DeleteEvent{Object: goes})).To(BeTrue())
	g.Expect(p.Update(event.UpdateEvent{ObjectOld: stays, ObjectNew: goes})).To(BeTrue(), "somebody deletes it")
	g.Expect(p.Update(event.UpdateEvent{ObjectOld: stays, ObjectNew: stays})).To(BeFalse())
	g.Expect(p.Update(event.UpdateEvent{ObjectOld: goes, ObjectNew: goes})).To(BeFalse())
}

// awaitGone reconciles until the Cluster and its namespace are gone.
func (h *hub) awaitGone(ctx context.Context) {
	h.g.EventuallyWithOffset(1, func(g Gomega) {
		_, err := h.try(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		err = h.Get(ctx, client.ObjectKey{Name: h.name}, &clusterv1alpha1.Cluster{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	}).WithTimeout(time.Minute).WithPolling(50 * time.Millisecond).Should(Succeed())
	err := h.Get(ctx, client.ObjectKey{Name: h.namespace()}, &corev1.Namespace{})
	h.g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
}

// failing returns a client whose writes fail after the allowed number.
func failing(t *testing.T, allowed int) client.Client {
	t.Helper()
	stopped := errors.New("stopped")
	var mu sync.Mutex
	write := func(do func() error) error {
		mu.Lock()
		defer mu.Unlock()
		if allowed == 0 {
			return stopped
		}
		allowed--
		return do()
	}
	return interceptor.NewClient(watching(t), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return write(func() error { return c.Create(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return write(func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return write(func() error { return c.Delete(ctx, obj, opts...) })
		},
	})
}

func watching(t *testing.T) client.WithWatch {
	t.Helper()
	shared := testcluster.Shared(t, testcluster.Options{Profile: testcluster.Hub})
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.NewWithWatch(shared.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
