package scheduler_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/evictions"
	"fairlead.dev/test/stagetest"
)

// pods is what a cluster reports that has capacity for a number of pods, of which some run.
func pods(all, run int64) func(*clusterv1alpha1.ClusterStatus) {
	return func(s *clusterv1alpha1.ClusterStatus) {
		of := func(n int64) corev1.ResourceList {
			return corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(n, resource.DecimalSI)}
		}
		s.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: of(all), Allocated: of(run)}
	}
}

// roomFor makes a cluster report capacity for a number of pods, of which some run.
func (w *world) roomFor(t *testing.T, name string, all, run int64) {
	t.Helper()
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	stagetest.ChangeStatus(t, w.hub, c, func() { pods(all, run)(&c.Status) })
}

func TestOverflowComesBackGracefully(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.join(t, "home-1", "home", pods(4, 0))
	w.join(t, "away-1", "away", pods(9, 0))
	b := w.binding("web", "home")
	b.Spec.Replicas = 6
	b.Spec.Placement = &policyv1alpha1.Placement{
		ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Aggregated,
		},
		ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{{
			AffinityName: "home", ClusterAffinity: *bySite("home"),
			OverflowAffinities: []policyv1alpha1.OverflowAffinityTerm{{AffinityName: "away", ClusterAffinity: *bySite("away")}},
		}},
	}
	b.Annotations = map[string]string{contract.ReturnToPreferredAnnotation: "false"}
	g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
	where := func() map[string]int32 {
		out := map[string]int32{}
		for _, target := range read(t, w, b).Spec.Clusters {
			out[target.Name] = target.Replicas
		}
		return out
	}
	shared := map[string]int32{"home-1": 4, "away-1": 2}
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal(shared))
	w.roomFor(t, "away-1", 9, 2)
	w.roomFor(t, "home-1", 4, 4)

	w.roomFor(t, "home-1", 9, 4)
	g.Consistently(where, settle+settle/2, stagetest.Poll).Should(Equal(shared), "the policy says that it stays")
	changed := time.Now()
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { delete(b.Annotations, contract.ReturnToPreferredAnnotation) })
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]int32{"home-1": 6}))
	g.Expect(b.Spec.GracefulEvictionTasks).To(HaveLen(1), "in the same write")
	task := b.Spec.GracefulEvictionTasks[0]
	g.Expect(task.FromCluster).To(Equal("away-1"))
	g.Expect(*task.Replicas).To(BeEquivalentTo(2))
	g.Expect(task.PurgeMode).To(Equal(policyv1alpha1.PurgeGracefully))
	g.Expect(task.Producer).To(Equal(workv1alpha2.ProducerScheduler))
	g.Expect(task.CreationTimestamp).NotTo(BeNil())
	g.Expect(task.CreationTimestamp.Time).To(BeTemporally(">", changed.Add(settle-time.Second)), "the room may be gone again in a moment")
	g.Expect(evictions.Of(b)).To(HaveLen(1))
	g.Eventually(func() []string { return w.told("web") }, stagetest.Timeout, stagetest.Poll).Should(ContainElement(
		"Normal EvictWorkloadFromCluster: Leaving cluster away-1. Preferred clusters have room for what overflowed."))
}
