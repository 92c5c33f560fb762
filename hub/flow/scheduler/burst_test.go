package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/stagetest"
)

// cpus is what a cluster reports that has so many CPUs, none of which is in use.
func cpus(of string) func(*clusterv1alpha1.ClusterStatus) {
	return func(s *clusterv1alpha1.ClusterStatus) {
		s.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(of), corev1.ResourcePods: resource.MustParse("110"),
		}}
	}
}

// reports makes a cluster report so many CPUs, none of which is in use.
func (w *world) reports(t *testing.T, c *clusterv1alpha1.Cluster, of string) {
	t.Helper()
	stagetest.ChangeStatus(t, w.hub, c, func() { cpus(of)(&c.Status) })
}

// byRoom returns a binding of a Deployment with two replicas of one CPU each, which are divided by capacity.
func (w *world) byRoom(name, site string) *workv1alpha2.ResourceBinding {
	b := w.binding(name, site)
	b.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{
		ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}
	b.Spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Weighted,
		WeightPreference: &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas},
	}
	return b
}

func TestAReservationOutlivesARestartAndNotItsOwner(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	c := w.join(t, "small-1", "small", cpus("3"))
	t.Cleanup(func() { g.Expect(w.hub.Delete(context.Background(), c)).To(Succeed()) })
	first, second := w.byRoom("first", "small"), w.byRoom("second", "small")
	g.Expect(w.hub.Create(t.Context(), first)).To(Succeed())
	g.Eventually(func() string { return summary(read(t, w, first)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("small-1 Success"))

	w.stop()
	w.stop = w.run(t)
	g.Expect(w.hub.Create(t.Context(), second)).To(Succeed())
	g.Eventually(func() string { return summary(read(t, w, second)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("Unschedulable"))
	g.Eventually(func() []string { return w.told("second") }, stagetest.Timeout, stagetest.Poll).Should(HaveLen(1), "it is told after it is written")

	// A different shortage causes no event.
	w.reports(t, c, "3500m")
	w.reports(t, c, "2500m")
	w.reports(t, c, "2900m")
	g.Consistently(func() []string { return w.told("second") }, stagetest.Quiet, stagetest.Poll).Should(HaveLen(1))

	// No pod of the first was ever reported, so no report shows its deletion.
	g.Expect(w.hub.Delete(t.Context(), first)).To(Succeed())
	g.Eventually(func() string { return summary(read(t, w, second)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("small-1 Success"))
}

// ofComponents returns a binding of two components with one CPU each, both of which go to one cluster.
func (w *world) ofComponents(name, site string) *workv1alpha2.ResourceBinding {
	b := w.binding(name, site)
	needs := &workv1alpha2.ComponentReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
	b.Spec.Replicas, b.Spec.Components = 0, []workv1alpha2.Component{{Name: "head", Replicas: 1, ReplicaRequirements: needs}, {Name: "worker", Replicas: 1, ReplicaRequirements: needs}}
	b.Spec.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByCluster, MinGroups: 1, MaxGroups: 1}}
	return b
}

// TestAReservationOutlivesAKillBeforeTheStatusIsWritten places something whose status waits for others, and then another.
func TestAReservationOutlivesAKillBeforeTheStatusIsWritten(t *testing.T) {
	g, w := NewWithT(t), deferring(t, time.Hour)
	c := w.join(t, "killed-1", "killed", cpus("3"))
	t.Cleanup(func() { g.Expect(w.hub.Delete(context.Background(), c)).To(Succeed()) })
	w.sees(t, "killed-1", "killed")
	first, second := w.byRoom("first", "killed"), w.byRoom("second", "killed")
	g.Expect(w.hub.Create(t.Context(), first)).To(Succeed())
	g.Eventually(func() string { return summary(read(t, w, first)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("killed-1 untouched"))

	w.stop()
	w.deferred = kube.NewDeferredStatus(clock.RealClock{})
	w.stop = w.run(t)
	g.Expect(w.hub.Create(t.Context(), second)).To(Succeed())
	g.Eventually(func() string { return summary(read(t, w, second)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("Unschedulable"))
}

func TestABurstDoesNotOvercommit(t *testing.T) {
	w := start(t)
	for name, tt := range map[string]struct {
		site string
		make func(name, site string) *workv1alpha2.ResourceBinding
	}{
		"of replicas":   {"burst", w.byRoom},
		"of components": {"parts", w.ofComponents},
	} {
		t.Run(name, func(t *testing.T) { w.burst(t, tt.site, tt.make) })
	}
}

func (w *world) burst(t *testing.T, site string, build func(name, site string) *workv1alpha2.ResourceBinding) {
	t.Helper()
	g := NewWithT(t)
	one, two := w.join(t, site+"-1", site, cpus("4")), w.join(t, site+"-2", site, cpus("4"))
	t.Cleanup(func() {
		for _, c := range []*clusterv1alpha1.Cluster{one, two} {
			g.Expect(w.hub.Delete(context.Background(), c)).To(Succeed())
		}
	})
	bindings := make([]*workv1alpha2.ResourceBinding, 6)
	for i := range bindings {
		b := build(fmt.Sprintf("%s-%d", site, i), site)
		g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
		bindings[i] = b
	}
	// Each of the 6 asks for 2 of the 8 CPUs.
	settled := func(placed, waiting int, room int32) func(Gomega) {
		return func(g Gomega) {
			var p, n int
			load := map[string]int32{}
			for _, b := range bindings {
				read(t, w, b)
				switch condition := summary(b); {
				case len(b.Spec.Clusters) > 0:
					p++
				case condition == workv1alpha2.ReasonUnschedulable:
					n++
				}
				for _, c := range b.Spec.Clusters {
					load[c.Name] += c.Replicas + int32(len(c.Components))
				}
			}
			g.Expect([]int{p, n}).To(Equal([]int{placed, waiting}))
			g.Expect(load[one.Name] + load[two.Name]).To(BeEquivalentTo(2 * placed))
			g.Expect(load[one.Name]).To(BeNumerically("<=", room))
			g.Expect(load[two.Name]).To(BeNumerically("<=", 4))
		}
	}
	g.Eventually(settled(4, 2, 4), stagetest.Timeout, stagetest.Poll).Should(Succeed())
	g.Consistently(settled(4, 2, 4), stagetest.Quiet, stagetest.Poll).Should(Succeed())

	// A node that joins one of them has capacity for the waiting bindings.
	w.reports(t, one, "8")
	g.Eventually(settled(6, 0, 8), stagetest.Timeout, stagetest.Poll).Should(Succeed())
}

// TestAWishThatCannotBeDoneWasLookedAt requests a decision from scratch for which there is no capacity.
func TestAWishThatCannotBeDoneWasLookedAt(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	c := w.join(t, "wish-1", "wish", cpus("2"))
	t.Cleanup(func() { g.Expect(w.hub.Delete(context.Background(), c)).To(Succeed()) })
	b := w.byRoom("wish", "wish")
	g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
	g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("wish-1 Success"))
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Replicas = 3
		b.Spec.RescheduleTriggeredAt = new(metav1.NewTime(b.Status.LastScheduledTime.Add(time.Second)))
	})
	g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("wish-1 Unschedulable"))
	g.Expect(b.Status.LastScheduledTime.Before(b.Spec.RescheduleTriggeredAt)).To(BeFalse(), "it was looked at")
	looked, version := b.Status.LastScheduledTime.DeepCopy(), b.ResourceVersion

	w.stop()
	w.stop = w.run(t)
	g.Consistently(func() string { return read(t, w, b).ResourceVersion }, stagetest.Quiet, stagetest.Poll).Should(Equal(version), "once")
	g.Expect(b.Status.LastScheduledTime).To(Equal(looked))
	w.reports(t, c, "9")
	g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("wish-1 Success"))
	g.Expect(b.Spec.Clusters[0].Replicas).To(BeEquivalentTo(3))
	g.Expect(b.Annotations).NotTo(HaveKey(contract.ReschedulePendingAnnotation))
}
