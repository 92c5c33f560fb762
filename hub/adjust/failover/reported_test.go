package failover

import (
	"context"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/disruption"
	"fairlead.dev/test/stagetest"
)

// known is how long after its start a hub knows which clusters are silent.
var known = disruption.StartGrace(disruption.DefaultSilence) + disruption.Wait

// TestAHubThatStartsEndsNoEvictionByWhatWasReportedBefore has two applications moving away, one of them to a cluster
// whose lease allows more silence than usual. Both were reported healthy there to the previous hub process; the new one
// does not yet know which clusters are reachable.
func TestAHubThatStartsEndsNoEvictionByWhatWasReportedBefore(t *testing.T) {
	t.Parallel()
	s := startAfter(t, "edge-1", "edge-2", "edge-3")
	s.lease(t, "edge-3", 5*time.Minute)
	usual, patient := s.binding(t, "usual", "edge-1"), s.binding(t, "patient", "edge-1")
	s.taint(t, lost)
	move := func(b *workv1alpha2.ResourceBinding, to string) {
		s.scheduled(t, b, workv1alpha1.Healthy, workv1alpha2.TargetCluster{Name: to, Replicas: 2})
	}
	over := func(b *workv1alpha2.ResourceBinding) {
		s.eventually(t, b, func(g Gomega) { g.Expect(b.Spec.GracefulEvictionTasks).To(BeEmpty()) })
	}
	for _, b := range []*workv1alpha2.ResourceBinding{usual, patient} {
		s.eventually(t, b, func(g Gomega) { g.Expect(where(b)).To(BeEmpty()) })
	}
	move(usual, "edge-2")
	move(patient, "edge-3")
	s.awaitsReports(t, usual)
	s.awaitsReports(t, patient)

	s.later(t, known)
	over(usual)
	s.awaitsReports(t, patient)
	s.later(t, 5*time.Minute)
	over(patient)
}

// TestAHubThatStartsEndsAnEvictionByWhatWasReportedSince: the status of a Work created by this process can only have
// been reported to it.
func TestAHubThatStartsEndsAnEvictionByWhatWasReportedSince(t *testing.T) {
	t.Parallel()
	s := startAfter(t, "edge-1", "edge-2")
	b := s.binding(t, "web", "edge-1")
	b.Labels[contract.ResourceBindingPermanentIDLabel] = "web"
	s.g.Expect(s.Update(t.Context(), b)).To(Succeed())
	s.taint(t, lost)
	s.eventually(t, b, func(g Gomega) { g.Expect(where(b)).To(BeEmpty()) })

	namespace := contract.ExecutionNamespace("karmada-es-", "edge-2")
	s.g.Expect(client.IgnoreAlreadyExists(s.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))).To(Succeed())
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "reported-since", Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: "web"},
		Annotations: map[string]string{contract.ResourceBindingNamespaceAnnotation: s.namespace, contract.ResourceBindingNameAnnotation: b.Name},
	}}
	// Creation timestamps have a resolution of one second.
	s.g.Eventually(func() time.Time { return time.Now().Truncate(time.Second) }).WithTimeout(stagetest.Timeout).
		Should(BeTemporally(">", b.Spec.GracefulEvictionTasks[0].CreationTimestamp.Time))
	s.g.Expect(s.Create(t.Context(), work)).To(Succeed())
	stagetest.ChangeStatus(t, s, work, func() {
		work.Status.Conditions = []metav1.Condition{{
			Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue, Reason: "Applied", ObservedGeneration: work.Generation, LastTransitionTime: metav1.Now(),
		}}
	})
	s.scheduled(t, b, workv1alpha1.Healthy, workv1alpha2.TargetCluster{Name: "edge-2", Replicas: 2})
	s.eventually(t, b, func(g Gomega) { g.Expect(b.Spec.GracefulEvictionTasks).To(BeEmpty()) })
}

// startAfter starts a stage with clusters that existed before it. The stage has followed them since its clock, which
// was ahead, was corrected.
func startAfter(t *testing.T, clusters ...string) *stage {
	t.Helper()
	s := startAhead(t, time.Hour, 0, func(*http.Request) (*http.Response, error) { return nil, nil })
	for _, name := range clusters {
		s.cluster(t, name)
	}
	// Creation timestamps have a resolution of one second.
	made := time.Now()
	s.g.Eventually(time.Now).WithTimeout(stagetest.Timeout).Should(BeTemporally(">", made.Truncate(time.Second).Add(time.Second)))
	s.clock.by.Store(0)
	return s
}

// lease creates the lease of a cluster, and deletes it when the test ends.
func (s *stage) lease(t *testing.T, cluster string, duration time.Duration) {
	t.Helper()
	s.g.Expect(client.IgnoreAlreadyExists(s.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ClusterNamespace}}))).To(Succeed())
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: cluster}}
	lease.Spec.LeaseDurationSeconds = new(int32(duration.Seconds()))
	s.g.Expect(s.Create(t.Context(), lease)).To(Succeed())
	t.Cleanup(func() { s.g.Expect(s.Delete(context.Background(), lease)).To(Succeed()) })
}

// awaitsReports waits until a hub that has just started keeps the application's copy in edge-1.
func (s *stage) awaitsReports(t *testing.T, b *workv1alpha2.ResourceBinding) {
	t.Helper()
	s.eventually(t, b, func(g Gomega) {
		g.Expect(b.Spec.GracefulEvictionTasks).To(HaveLen(1))
		g.Expect(b.Status.Conditions).To(ContainElement(And(
			HaveField("Type", workv1alpha2.BindingEvicting), HaveField("Message", ContainSubstring("before the hub started")))))
	})
}

// later advances the clock and triggers a reconcile.
func (s *stage) later(t *testing.T, by time.Duration) {
	t.Helper()
	s.clock.by.Add(int64(by))
	s.taint(t, lost, corev1.Taint{Key: by.String(), Effect: corev1.TaintEffectNoSchedule})
}
