package scale_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/adjust/replicas/scale"
)

// settled is a binding in two clusters, the second of which reports one replica more than it was assigned.
func settled() *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{}
	b.Generation, b.Status.SchedulerObservedGeneration = 3, 3
	b.Spec.Replicas = 4
	b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 2}}
	b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{
		item("b", `{"replicas": 3, "updatedReplicas": 3}`), item("a", `{"replicas": 2, "updatedReplicas": 2}`),
	}
	return b
}

func item(cluster, status string) workv1alpha2.AggregatedStatusItem {
	return workv1alpha2.AggregatedStatusItem{
		ClusterName: cluster, Status: &runtime.RawExtension{Raw: []byte(status)}, Applied: true, Health: workv1alpha1.Healthy,
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	got := scale.CountOf(settled())
	NewWithT(t).Expect(got).To(BeComparableTo(scale.Count{
		Total: 5, By: []workv1alpha2.TargetCluster{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 3}},
	}))
	tests := map[string]struct {
		change func(*workv1alpha2.ResourceBinding)
		want   string
	}{
		"it is nowhere": {func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = nil }, "in no cluster"},
		"it is being moved": {func(b *workv1alpha2.ResourceBinding) {
			b.Spec.GracefulEvictionTasks = make([]workv1alpha2.GracefulEvictionTask, 1)
		}, "leaving a cluster"},
		"it was changed":             {func(b *workv1alpha2.ResourceBinding) { b.Generation = 4 }, "scheduler"},
		"a cluster has not reported": {func(b *workv1alpha2.ResourceBinding) { b.Status.AggregatedStatus = b.Status.AggregatedStatus[:1] }, "are not the clusters of the binding"},
		"another cluster reports":    {func(b *workv1alpha2.ResourceBinding) { b.Status.AggregatedStatus[0].ClusterName = "c" }, "cluster b has not reported"},
		"a cluster reports nothing":  {func(b *workv1alpha2.ResourceBinding) { b.Status.AggregatedStatus[0].Status = nil }, "cluster b has not reported"},
		"a cluster refused it":       {func(b *workv1alpha2.ResourceBinding) { b.Status.AggregatedStatus[0].Applied = false }, "cluster b has not reported"},
		"a cluster reports nonsense": {func(b *workv1alpha2.ResourceBinding) { b.Status.AggregatedStatus[0] = item("b", `[]`) }, "reports no replicas"},
		"a cluster has none yet":     {func(b *workv1alpha2.ResourceBinding) { b.Status.AggregatedStatus[0] = item("b", `{}`) }, "cluster b reports no replicas yet"},
		"a rollout has more for a while": {func(b *workv1alpha2.ResourceBinding) {
			b.Status.AggregatedStatus[0] = item("b", `{"replicas": 3, "updatedReplicas": 1}`)
		}, "cluster b is not done"},
		"pods are made, or not ready":        {func(b *workv1alpha2.ResourceBinding) { b.Status.AggregatedStatus[0].Health = workv1alpha1.Unhealthy }, "cluster b is not done"},
		"nobody knows whether it fares well": {func(b *workv1alpha2.ResourceBinding) { b.Status.AggregatedStatus[0].Health = workv1alpha1.Unknown }, "cluster b is not done"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := settled()
			tt.change(b)
			NewWithT(t).Expect(scale.CountOf(b).Wait).To(ContainSubstring(tt.want))
		})
	}
}

// A cluster that lies, or an autoscaler without a limit, does not decide how large the template gets.
func TestReportedReplicasAreBounded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change     func(*workv1alpha2.ResourceBinding)
		want       int32
		wantBy     int32
		wantExcess int32
	}{
		"twice the share and ten count": {func(b *workv1alpha2.ResourceBinding) { b.Status.AggregatedStatus[0] = many("14") }, 16, 14, 0},
		"what is more does not":         {func(b *workv1alpha2.ResourceBinding) { b.Status.AggregatedStatus[0] = many("15") }, 16, 14, 15},
		"however much it is":            {func(b *workv1alpha2.ResourceBinding) { b.Status.AggregatedStatus[0] = many("2147483647") }, 16, 14, 2147483647},
		"a cluster without a share": {func(b *workv1alpha2.ResourceBinding) {
			b.Spec.Clusters[1].Replicas = 0
			b.Status.AggregatedStatus[0] = many("99")
		}, 12, 10, 99},
		"a share that cannot be doubled": {func(b *workv1alpha2.ResourceBinding) {
			b.Spec.Clusters[1].Replicas = 2_000_000_000
			b.Status.AggregatedStatus[0] = many("2147483647")
		}, 2147483647, 2147483647, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, b := NewWithT(t), settled()
			tt.change(b)
			got := scale.CountOf(b)
			g.Expect(got.Wait).To(BeEmpty())
			g.Expect(got.Total).To(Equal(tt.want))
			g.Expect(got.By[1]).To(Equal(workv1alpha2.TargetCluster{Name: "b", Replicas: tt.wantBy}))
			if tt.wantExcess == 0 {
				g.Expect(got.Excess).To(BeEmpty())
				return
			}
			g.Expect(got.Excess).To(Equal([]workv1alpha2.TargetCluster{{Name: "b", Replicas: tt.wantExcess}}))
		})
	}
}

// many is a report of this many replicas by cluster b.
func many(replicas string) workv1alpha2.AggregatedStatusItem {
	return item("b", `{"replicas": `+replicas+`, "updatedReplicas": `+replicas+`}`)
}
