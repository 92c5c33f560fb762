package failover

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/disruption"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

// TestAHubThatStartsGivesSilentClustersTimeAnew: the previous hub process was killed just after it found the line of
// edge-1 lost.
func TestAHubThatStartsGivesSilentClustersTimeAnew(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	for _, name := range []string{"edge-1", "edge-2", "edge-3", "edge-4"} {
		s.cluster(t, name)
	}
	s.g.Expect(s.Create(t.Context(), &policyv1alpha1.ClusterTaintPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "lost"},
		Spec:       policyv1alpha1.ClusterTaintPolicySpec{Taints: []policyv1alpha1.ClusterTaint{{Key: "lost", Effect: corev1.TaintEffectNoExecute}}},
	})).To(Succeed())
	s.readyBecause(t, "edge-1", metav1.ConditionUnknown, clusterv1alpha1.ReasonAgentDisconnected, time.Now().Add(-time.Hour))
	s.taint(t, lost)
	b := s.binding(t, "web", "edge-1", "edge-2")
	other := builder.MakeCluster("edge-2").Obj()
	stagetest.Change(t, s, other, func() { other.Spec.Taints = []corev1.Taint{{Key: "by-hand", Effect: corev1.TaintEffectNoExecute}} })
	s.eventually(t, b, func(g Gomega) { g.Expect(where(b)).To(Equal("edge-1"), "one decision is about both") })

	over := disruption.StartGrace(disruption.DefaultSilence) + disruption.Wait + time.Second
	s.clock.by.Store(int64(over))
	s.reconnects.Note(s.clock.Now())
	late := s.binding(t, "late", "edge-1", "edge-2")
	s.eventually(t, late, func(g Gomega) { g.Expect(where(late)).To(Equal("edge-1"), "members still come back") })

	s.clock.by.Store(int64(over + disruption.StartGrace(disruption.DefaultSilence)/2))
	s.taint(t, lost, corev1.Taint{Key: "other", Effect: corev1.TaintEffectNoSchedule}) // triggers a reconcile
	for _, left := range []*workv1alpha2.ResourceBinding{b, late} {
		s.eventually(t, left, func(g Gomega) { g.Expect(where(left)).To(BeEmpty()) })
	}
}
