package failover

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/failover/evict"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// turn is held by the test that has the API server to itself: a hub judges its own connectivity by all clusters,
// including those of other tests.
var turn sync.Mutex

// stage is a hub with only this stage and only the clusters of its test.
type stage struct {
	client.Client
	g         *WithT
	namespace string
	clock     *ahead
	// nowhere makes the scheduler find no other place.
	nowhere    atomic.Bool
	reconnects disruption.Reconnects
	events     stagetest.Events
}

func start(t *testing.T, rate float64) *stage {
	t.Helper()
	return startWith(t, rate, func(*http.Request) (*http.Response, error) { return nil, nil })
}

// startWith starts a stage whose requests all pass through first.
func startWith(t *testing.T, rate float64, first func(*http.Request) (*http.Response, error), change ...func(*manager.Options)) *stage {
	t.Helper()
	return startAhead(t, 0, rate, first, change...)
}

// startAhead starts a stage whose clock is ahead, and waits until it is running.
func startAhead(t *testing.T, by time.Duration, rate float64, first func(*http.Request) (*http.Response, error), change ...func(*manager.Options)) *stage {
	t.Helper()
	turn.Lock()
	t.Cleanup(turn.Unlock)
	hub := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	s := &stage{Client: hub.Client(t), namespace: hub.Namespace(t), g: NewWithT(t), clock: &ahead{}}
	s.clock.by.Store(int64(by))
	t.Cleanup(s.clear) // after the stage has stopped
	mgr := stagetest.Manager(t, stagetest.Intercept(hub.Config, first), change...)
	s.g.Expect(kube.Index(t.Context(), mgr.GetCache())).To(Succeed())
	s.g.Expect(Register(mgr, Deps{
		Clock: s.clock, Rate: rate, ExecutionNamespacePrefix: "karmada-es-",
		HasHealthRule: func(schema.GroupVersionKind) bool { return true },
		Events:        s.events.Record,
		Scheduler:     s,
		Reconnects:    &s.reconnects,
	})).To(Succeed())
	begun := make(chan struct{})
	s.g.Expect(mgr.Add(manager.RunnableFunc(func(context.Context) error { close(begun); return nil }))).To(Succeed())
	stagetest.Run(t, mgr)
	s.g.Eventually(begun).WithTimeout(stagetest.Timeout).Should(BeClosed())
	return s
}

// clear deletes what the next test would otherwise see.
func (s *stage) clear() {
	ctx := context.Background()
	for _, obj := range []client.Object{&clusterv1alpha1.Cluster{}, &policyv1alpha1.ClusterTaintPolicy{}} {
		s.g.Expect(s.DeleteAllOf(ctx, obj)).To(Succeed())
	}
	s.g.Expect(s.DeleteAllOf(ctx, &workv1alpha2.ResourceBinding{}, client.InNamespace(s.namespace))).To(Succeed())
	left := &clusterv1alpha1.ClusterList{}
	s.g.Expect(s.List(ctx, left)).To(Succeed())
	s.g.Expect(left.Items).To(BeEmpty(), "nobody holds them")
}

// CouldPlaceWithout implements the scheduler's answer.
func (s *stage) CouldPlaceWithout(context.Context, kube.Binding, []string) (bool, error) {
	return !s.nowhere.Load(), nil
}

// WouldReturn implements the scheduler's answer.
func (s *stage) WouldReturn(context.Context, kube.Binding, string) (bool, error) { return false, nil }

// cluster creates a Cluster that has been in its state for some time.
func (s *stage) cluster(t *testing.T, name string) {
	t.Helper()
	s.g.Expect(s.Create(t.Context(), builder.MakeCluster(name).Obj())).To(Succeed())
	s.ready(t, name, metav1.ConditionTrue, time.Now())
}

func (s *stage) ready(t *testing.T, name string, status metav1.ConditionStatus, since time.Time) {
	t.Helper()
	s.readyBecause(t, name, status, "Reported", since)
}

func (s *stage) readyBecause(t *testing.T, name string, status metav1.ConditionStatus, reason string, since time.Time) {
	t.Helper()
	c := builder.MakeCluster(name).Obj()
	stagetest.ChangeStatus(t, s, c, func() {
		meta.RemoveStatusCondition(&c.Status.Conditions, "Ready")
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: "Ready", Status: status, Reason: reason, Message: "so", LastTransitionTime: metav1.NewTime(since),
		})
	})
}

// taint sets the taints of edge-1.
func (s *stage) taint(t *testing.T, taints ...corev1.Taint) {
	t.Helper()
	c := builder.MakeCluster("edge-1").Obj()
	stagetest.Change(t, s, c, func() { c.Spec.Taints = taints })
}

var lost = corev1.Taint{Key: "lost", Effect: corev1.TaintEffectNoExecute}

// binding creates a binding of a Deployment whose replicas are divided, two per cluster.
func (s *stage) binding(t *testing.T, name string, clusters ...string) *workv1alpha2.ResourceBinding {
	t.Helper()
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Name: name, Labels: map[string]string{contract.PropagationPolicyPermanentIDLabel: "policy"},
	}}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: s.namespace, Name: name}
	b.Spec.Replicas = int32(2 * len(clusters))
	b.Spec.Placement = &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Weighted,
	}}
	for _, c := range clusters {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: c, Replicas: 2})
	}
	s.g.Expect(s.Create(t.Context(), b)).To(Succeed())
	return b
}

// scheduled writes what the scheduler and the clusters' agents would write.
func (s *stage) scheduled(t *testing.T, b *workv1alpha2.ResourceBinding, health workv1alpha1.ResourceHealth, targets ...workv1alpha2.TargetCluster) {
	t.Helper()
	s.g.Eventually(func() error {
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		b.Spec.Clusters = targets
		if err := s.Update(t.Context(), b); err != nil {
			return err
		}
		b.Status.SchedulerObservedGeneration = b.Generation
		b.Status.LastScheduledTime = &metav1.Time{Time: time.Now()}
		b.Status.AggregatedStatus = nil
		for _, target := range targets {
			b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{
				ClusterName: target.Name, Applied: true, Health: health, Status: &runtime.RawExtension{Raw: []byte(`{"replicas":9,"readyReplicas":9,"job":"j7"}`)},
			})
		}
		return s.Status().Update(t.Context(), b)
	}).WithTimeout(stagetest.Timeout).Should(Succeed())
}

// eventually waits until check passes for a binding.
func (s *stage) eventually(t *testing.T, b *workv1alpha2.ResourceBinding, check func(g Gomega)) {
	t.Helper()
	s.g.Eventually(func(g Gomega) {
		g.Expect(s.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		check(g)
	}).WithTimeout(stagetest.Timeout).WithPolling(20 * time.Millisecond).Should(Succeed())
}

func (s *stage) reasons() []string {
	var out []string
	for _, e := range s.events.All() {
		out = append(out, e.Reason)
	}
	return out
}

func where(b *workv1alpha2.ResourceBinding) string {
	var out []string
	for _, c := range b.Spec.Clusters {
		out = append(out, c.Name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func evicting(b *workv1alpha2.ResourceBinding) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingEvicting); c != nil {
		return c.Reason
	}
	return ""
}

func TestAnApplicationLeavesATaintedClusterAndTheTaskEndsWhenItIsHealthyElsewhere(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	for _, name := range []string{"edge-1", "edge-2", "edge-3"} {
		s.cluster(t, name)
	}
	b := s.binding(t, "web", "edge-1", "edge-2")
	s.taint(t, lost)
	s.eventually(t, b, func(g Gomega) {
		g.Expect(where(b)).To(Equal("edge-2"))
		g.Expect(b.Spec.GracefulEvictionTasks).To(HaveLen(1))
		g.Expect(*b.Spec.GracefulEvictionTasks[0].Replicas).To(BeEquivalentTo(2))
		g.Expect(evicting(b)).To(Equal("WaitingForReplacement"))
	})
	s.scheduled(t, b, workv1alpha1.Unhealthy, workv1alpha2.TargetCluster{Name: "edge-2", Replicas: 2}, workv1alpha2.TargetCluster{Name: "edge-3", Replicas: 2})
	s.g.Consistently(func(g Gomega) {
		g.Expect(s.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		g.Expect(b.Spec.GracefulEvictionTasks).To(HaveLen(1))
	}).Should(Succeed())
	s.scheduled(t, b, workv1alpha1.Healthy, b.Spec.Clusters...)
	s.eventually(t, b, func(g Gomega) {
		g.Expect(b.Spec.GracefulEvictionTasks).To(BeEmpty())
		g.Expect(evicting(b)).To(BeEmpty())
		g.Expect(where(b)).To(Equal("edge-2 edge-3"))
	})
	// Events are recorded shortly after the write.
	s.g.Eventually(s.reasons).WithTimeout(stagetest.Timeout).Should(Equal([]string{
		"EvictWorkloadFromCluster", "EvictWorkloadFromCluster", "EvictWorkloadFromClusterSucceed", "EvictWorkloadFromClusterSucceed",
	}), "on the binding and on the template")
}

func TestAnApplicationStaysIfTheClusterIsWellAgainBeforeAnythingTookItsPlace(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	s.cluster(t, "edge-1")
	b := s.binding(t, "web", "edge-1")
	s.taint(t, lost)
	s.eventually(t, b, func(g Gomega) { g.Expect(where(b)).To(BeEmpty()) })
	s.taint(t)
	s.eventually(t, b, func(g Gomega) {
		g.Expect(b.Spec.Clusters).To(Equal([]workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 2}}))
		g.Expect(b.Spec.GracefulEvictionTasks).To(BeEmpty())
	})
}

func TestTheHubThatSuspectsItselfMovesNothingUntilItKnowsBetter(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	for _, name := range []string{"edge-1", "edge-2", "edge-3"} {
		s.cluster(t, name)
	}
	s.g.Expect(s.Create(t.Context(), &policyv1alpha1.ClusterTaintPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "lost"},
		Spec:       policyv1alpha1.ClusterTaintPolicySpec{Taints: []policyv1alpha1.ClusterTaint{{Key: "lost", Effect: corev1.TaintEffectNoExecute}}},
	})).To(Succeed())
	b := s.binding(t, "web", "edge-1")
	before := time.Now().Add(-time.Minute)
	s.ready(t, "edge-1", metav1.ConditionUnknown, before)
	s.ready(t, "edge-2", metav1.ConditionUnknown, before)
	s.taint(t, lost)
	s.eventually(t, b, func(g Gomega) { g.Expect(evicting(b)).To(Equal("HubSuspectsItself")) })
	s.g.Expect(where(b)).To(Equal("edge-1"))
	c := &clusterv1alpha1.Cluster{}
	s.g.Eventually(func(g Gomega) {
		g.Expect(s.Get(t.Context(), client.ObjectKey{Name: "edge-1"}, c)).To(Succeed())
		g.Expect(meta.IsStatusConditionTrue(c.Status.Conditions, "EvictionSuspended")).To(BeTrue())
		g.Expect(s.reasons()).To(ContainElement("HubSuspectsItself"))
	}).WithTimeout(stagetest.Timeout).Should(Succeed())

	s.ready(t, "edge-2", metav1.ConditionTrue, time.Now())
	s.eventually(t, b, func(g Gomega) { g.Expect(evicting(b)).To(Equal("OthersAreBack")) })
	s.g.Expect(where(b)).To(Equal("edge-1"), "it may come back, too")
	s.g.Eventually(func(g Gomega) {
		g.Expect(s.Get(t.Context(), client.ObjectKey{Name: "edge-1"}, c)).To(Succeed())
		g.Expect(meta.FindStatusCondition(c.Status.Conditions, "EvictionSuspended").Reason).To(Equal("OthersAreBack"))
	}).WithTimeout(stagetest.Timeout).Should(Succeed())
	s.clock.by.Store(int64(disruption.Respite + time.Minute))
	s.ready(t, "edge-3", metav1.ConditionFalse, time.Now()) // triggers a reconcile
	s.eventually(t, b, func(g Gomega) { g.Expect(where(b)).To(BeEmpty(), "edge-1 alone is lost") })
	s.g.Eventually(func(g Gomega) {
		g.Expect(s.Get(t.Context(), client.ObjectKey{Name: "edge-1"}, c)).To(Succeed())
		g.Expect(meta.FindStatusCondition(c.Status.Conditions, "EvictionSuspended")).To(BeNil())
	}).WithTimeout(stagetest.Timeout).Should(Succeed())
}

// TestAWorkOfAnotherBindingKeepsNoTask: a direct eviction lasts until its Work is gone. A copied binding carries the
// permanent id of the original, whose Work stays and must not count.
func TestAWorkOfAnotherBindingKeepsNoTask(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	s.cluster(t, "edge-1")
	s.cluster(t, "edge-2")
	s.taint(t, lost)
	namespace := contract.ExecutionNamespace("karmada-es-", "edge-1")
	s.g.Expect(client.IgnoreAlreadyExists(s.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))).To(Succeed())
	id := map[string]string{contract.ResourceBindingPermanentIDLabel: "the-first"}
	work := func(name string) *workv1alpha1.Work {
		return &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: id, Annotations: map[string]string{
			contract.ResourceBindingNamespaceAnnotation: s.namespace, contract.ResourceBindingNameAnnotation: name,
		}}}
	}
	s.g.Expect(s.Create(t.Context(), work("first"))).To(Succeed())
	leave := func(name string) *workv1alpha2.ResourceBinding {
		b := s.binding(t, name, "edge-2")
		b.Labels[contract.ResourceBindingPermanentIDLabel] = "the-first"
		b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{
			FromCluster: "edge-1", Reason: "TaintUntolerated", Producer: workv1alpha2.ProducerTaintManager,
			PurgeMode: policyv1alpha1.PurgeDirectly, CreationTimestamp: &metav1.Time{Time: time.Now()},
		}}
		s.g.Expect(s.Update(t.Context(), b)).To(Succeed())
		s.scheduled(t, b, workv1alpha1.Healthy, b.Spec.Clusters...)
		return b
	}
	first, second := leave("first"), leave("second")
	s.eventually(t, second, func(g Gomega) { g.Expect(second.Spec.GracefulEvictionTasks).To(BeEmpty()) })
	s.eventually(t, first, func(g Gomega) { g.Expect(first.Spec.GracefulEvictionTasks).To(HaveLen(1), "its Work is still there") })
	s.g.Expect(s.Delete(t.Context(), work("first"))).To(Succeed())
	s.eventually(t, first, func(g Gomega) { g.Expect(first.Spec.GracefulEvictionTasks).To(BeEmpty()) })
}

func TestAnUnhealthyApplicationTakesItsStateAlong(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	s.cluster(t, "edge-1")
	s.cluster(t, "edge-2")
	s.nowhere.Store(true)
	b := s.binding(t, "web", "edge-1")
	b.Spec.Failover = &policyv1alpha1.FailoverBehavior{Application: &policyv1alpha1.ApplicationFailoverBehavior{
		DecisionConditions: policyv1alpha1.DecisionConditions{TolerationSeconds: new(int32(0))}, PurgeMode: policyv1alpha1.PurgeDirectly,
		StatePreservation: &policyv1alpha1.StatePreservation{Rules: []policyv1alpha1.StatePreservationRule{{AliasLabelName: "example.com/job", JSONPath: "{ .job }"}}},
	}}
	s.g.Expect(s.Update(t.Context(), b)).To(Succeed())
	s.scheduled(t, b, workv1alpha1.Unhealthy, b.Spec.Clusters...)
	s.eventually(t, b, func(g Gomega) { g.Expect(evicting(b)).To(Equal("NowhereToGo")) })
	s.nowhere.Store(false)
	s.scheduled(t, b, workv1alpha1.Healthy, b.Spec.Clusters...)
	s.eventually(t, b, func(g Gomega) { g.Expect(evicting(b)).To(BeEmpty()) })
	s.scheduled(t, b, workv1alpha1.Unhealthy, b.Spec.Clusters...)
	s.eventually(t, b, func(g Gomega) {
		g.Expect(b.Spec.GracefulEvictionTasks).To(HaveLen(1))
		g.Expect(b.Spec.GracefulEvictionTasks[0].PreservedLabelState).To(Equal(map[string]string{"example.com/job": "j7"}))
	})
}

// A binding may contain a path stored before admission checked them. Evaluating it would allocate two to the power of
// its number of parts.
func TestAPathThatDoublesWhatItFindsHoldsUpItsOwnApplicationOnly(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	s.cluster(t, "edge-1")
	s.cluster(t, "edge-2")
	leave := func(name, path string) *workv1alpha2.ResourceBinding {
		b := s.binding(t, name, "edge-1")
		b.Spec.Failover = &policyv1alpha1.FailoverBehavior{Application: &policyv1alpha1.ApplicationFailoverBehavior{
			DecisionConditions: policyv1alpha1.DecisionConditions{TolerationSeconds: new(int32(0))}, PurgeMode: policyv1alpha1.PurgeDirectly,
			StatePreservation: &policyv1alpha1.StatePreservation{Rules: []policyv1alpha1.StatePreservationRule{{AliasLabelName: "job", JSONPath: path}}},
		}}
		s.g.Expect(s.Update(t.Context(), b)).To(Succeed())
		s.scheduled(t, b, workv1alpha1.Unhealthy, b.Spec.Clusters...)
		return b
	}
	hostile := leave("hostile", doubling(28))
	honest := leave("honest", "{ .job }")
	s.eventually(t, honest, func(g Gomega) { g.Expect(honest.Spec.GracefulEvictionTasks).To(HaveLen(1)) })
	s.eventually(t, hostile, func(g Gomega) {
		c := meta.FindStatusCondition(hostile.Status.Conditions, workv1alpha2.BindingEvicting)
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.Reason).To(Equal(workv1alpha2.ReasonStateNotPreserved))
		g.Expect(c.Message).To(ContainSubstring("lead to one value by fields and indexes"))
	})
}

func TestApplicationsLeaveOneAfterTheOther(t *testing.T) {
	t.Parallel()
	s := start(t, 2)
	s.cluster(t, "edge-1")
	s.cluster(t, "edge-2")
	var bindings []*workv1alpha2.ResourceBinding
	for _, name := range []string{"a", "b", "c", "d"} {
		bindings = append(bindings, s.binding(t, name, "edge-1"))
	}
	begin := time.Now()
	s.taint(t, lost)
	for _, b := range bindings {
		s.eventually(t, b, func(g Gomega) { g.Expect(where(b)).To(BeEmpty()) })
	}
	s.g.Expect(time.Since(begin)).To(BeNumerically(">=", 1400*time.Millisecond), "two a second")
}

// TestADepartureIsAboutItsCluster checks what tells two departures apart: events that differ only in the note are
// counted as one.
func TestADepartureIsAboutItsCluster(t *testing.T) {
	t.Parallel()
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	told := append(evicted(b, &workv1alpha2.GracefulEvictionTask{FromCluster: "edge-2"}), ended(b, evict.Ended{Cluster: "edge-2"})...)
	NewWithT(t).Expect(told).To(HaveEach(HaveField("Related", HaveField("Name", "edge-2"))))
}
