package queue_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/scheduler/queue"
	"fairlead.dev/test/builder"
)

func cpus(n string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}
}

func TestOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*clusterv1alpha1.Cluster)
		want   queue.News
	}{
		"a heartbeat is no news": {func(c *clusterv1alpha1.Cluster) {
			c.ResourceVersion = "2"
			c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue}}
		}, queue.None},
		"less room is no news": {func(c *clusterv1alpha1.Cluster) { c.Status.ResourceSummary.Allocated = cpus("3") }, queue.None},
		"pods that went":       {func(c *clusterv1alpha1.Cluster) { c.Status.ResourceSummary.Allocated = cpus("500m") }, queue.Room},
		"a new node":           {func(c *clusterv1alpha1.Cluster) { c.Status.ResourceSummary.Allocatable = cpus("8") }, queue.Room},
		"a larger node": {func(c *clusterv1alpha1.Cluster) {
			c.Status.ResourceSummary.AllocatableModelings = []clusterv1alpha1.AllocatableModeling{{Grade: 3, Count: 1}}
		}, queue.Room},
		"a label": {func(c *clusterv1alpha1.Cluster) { c.Labels = map[string]string{"a": "b"} }, queue.Fit},
		"a taint": {func(c *clusterv1alpha1.Cluster) { c.Generation++ }, queue.Fit},
		"its removal": {func(c *clusterv1alpha1.Cluster) {
			c.DeletionTimestamp = &metav1.Time{}
			*c.DeletionTimestamp = metav1.Now()
		}, queue.Fit},
		"another API": {func(c *clusterv1alpha1.Cluster) {
			c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{{GroupVersion: "v1"}}
		}, queue.Fit},
		"a full listing": {func(c *clusterv1alpha1.Cluster) {
			c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterCompleteAPIEnablements, Status: metav1.ConditionTrue}}
		}, queue.Fit},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := builder.MakeCluster("m").Obj()
			before.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: cpus("4"), Allocated: cpus("1")}
			after := before.DeepCopy()
			tt.change(after)
			NewWithT(t).Expect(queue.Of(before, after)).To(Equal(tt.want))
		})
	}
}

func TestConcerns(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	because := func(reason string) *workv1alpha2.ResourceBindingStatus {
		return &workv1alpha2.ResourceBindingStatus{Conditions: []metav1.Condition{{Type: workv1alpha2.BindingScheduled, Reason: reason}}}
	}
	g.Expect(queue.Concerns(queue.None, because(workv1alpha2.ReasonUnschedulable))).To(BeFalse())
	g.Expect(queue.Concerns(queue.Room, because(workv1alpha2.ReasonUnschedulable))).To(BeTrue())
	g.Expect(queue.Concerns(queue.Room, because(workv1alpha2.ReasonNoClusterFit))).To(BeFalse())
	g.Expect(queue.Concerns(queue.Room, because(workv1alpha2.ReasonScheduledSuccess))).To(BeFalse())
	g.Expect(queue.Concerns(queue.Fit, because(workv1alpha2.ReasonNoClusterFit))).To(BeTrue())
}

func TestPriority(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := func(p int32, again bool) int {
		return queue.Priority(&workv1alpha2.ResourceBindingSpec{SchedulePriority: &workv1alpha2.SchedulePriority{Priority: p}}, again)
	}
	g.Expect(of(1, true)).To(BeNumerically(">", of(0, false)), "the policy comes first")
	g.Expect(of(0, false)).To(BeNumerically(">", of(0, true)), "then who changed something")
	g.Expect(of(0, false)).To(Equal(queue.Priority(&workv1alpha2.ResourceBindingSpec{}, false)))
}
