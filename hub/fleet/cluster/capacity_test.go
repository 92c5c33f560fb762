package cluster

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/test/builder"
)

func TestAJumpOfTheCapacityIsShownUntilItIsLimited(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	c := builder.MakeCluster("edge-1").Obj()
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c).WithStatusSubresource(c).Build()
	var told []eventsink.Event
	clock := testclock.NewFakeClock(time.Unix(1_000_000, 0))
	start := func() *Reconciler {
		r, err := New(hub, hub, Deps{ExecutionNamespacePrefix: "karmada-es-", Clock: clock, Events: func(e eventsink.Event) { told = append(told, e) }})
		g.Expect(err).NotTo(HaveOccurred())
		return r
	}
	r := start()
	look := func() *metav1.Condition {
		t.Helper()
		clock.SetTime(clock.Now().Add(time.Second))
		_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c)})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(c), c)).To(Succeed())
		return meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterCapacityJumped)
	}
	report := func(cpu string) {
		t.Helper()
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
		g.Expect(hub.Status().Update(t.Context(), c)).To(Succeed())
	}
	jumps := func() int {
		n := 0
		for _, e := range told {
			if e.Reason == reasonCapacityJumped {
				n++
			}
		}
		return n
	}
	look()
	report("4")
	g.Expect(look()).To(BeNil())

	r = start() // another replica of the hub must decide the same
	report("4000")
	jump := look()
	g.Expect(jump.Status).To(Equal(metav1.ConditionTrue))
	g.Expect(jump.Message).To(ContainSubstring(`"capacityLimit":{"cpu":"4"}`))
	report("5000")
	look()
	g.Expect(jumps()).To(Equal(1))

	// The agent may write its status, conditions included.
	meta.RemoveStatusCondition(&c.Status.Conditions, clusterv1alpha1.ClusterCapacityJumped)
	g.Expect(hub.Status().Update(t.Context(), c)).To(Succeed())
	g.Expect(look().Status).To(Equal(metav1.ConditionTrue))
	g.Expect(jumps()).To(Equal(1))
	version := c.ResourceVersion
	look()
	g.Expect(c.ResourceVersion).To(Equal(version), "nothing is written again")

	c.Spec.CapacityLimit = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	g.Expect(hub.Update(t.Context(), c)).To(Succeed())
	g.Expect(look().Status).To(Equal(metav1.ConditionFalse))
}
