package scheduler

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/reserve"
)

// TestAssignmentsOfOtherReplicasAreReserved tells a scheduler of a binding that has clusters by now: one that waits for its turn, and
// so hears of the assignments of another, one that has just begun, and one that has assigned them itself.
func TestAssignmentsOfOtherReplicasAreReserved(t *testing.T) {
	t.Parallel()
	on := func(replicas int32) []workv1alpha2.TargetCluster {
		return []workv1alpha2.TargetCluster{{Name: "m", Replicas: replicas}}
	}
	own := func(replicas int32) func(*reconciler, *workv1alpha2.ResourceBinding) {
		return func(r *reconciler, b *workv1alpha2.ResourceBinding) {
			r.assumed[client.ObjectKeyFromObject(b)] = placement{generation: 1, targets: on(replicas)}
		}
	}
	scheduled := func(ago time.Duration) func(*reconciler, *workv1alpha2.ResourceBinding) {
		return func(r *reconciler, b *workv1alpha2.ResourceBinding) {
			b.Status.LastScheduledTime = &metav1.Time{Time: r.clock.Now().Add(-ago)}
		}
	}
	report := func(health workv1alpha1.ResourceHealth) func(*reconciler, *workv1alpha2.ResourceBinding) {
		return func(_ *reconciler, b *workv1alpha2.ResourceBinding) {
			b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "m", Health: health}}
		}
	}
	tests := map[string]struct {
		had int32
		// listed says that the binding is there when the scheduler begins, and not that it changes.
		listed bool
		given  func(*reconciler, *workv1alpha2.ResourceBinding)
		// later is how much time has passed when somebody asks.
		later time.Duration
		want  int64
	}{
		"by whose turn it is":                   {want: 3},
		"beside what there was":                 {had: 1, want: 2},
		"and is less":                           {had: 4, want: 0},
		"and is there":                          {given: report(workv1alpha1.Healthy), want: 0},
		"and is not there yet":                  {given: report(workv1alpha1.Unhealthy), want: 3},
		"by ourselves, which is reserved since": {given: own(3), want: 0},
		"beside what we did":                    {given: own(1), want: 2},
		"and is known": {given: func(r *reconciler, b *workv1alpha2.ResourceBinding) {
			r.reserve(client.ObjectKeyFromObject(b), &b.Spec, nil, on(3), r.clock.Now())
		}, want: 3},
		"to components":                                    {given: components, want: 4},
		"before we began":                                  {listed: true, given: scheduled(time.Minute), want: 3},
		"before we began, and never said":                  {listed: true, want: 3},
		"before we began, long ago":                        {listed: true, given: scheduled(time.Hour), want: 0},
		"before we began, by a clock that was ahead":       {listed: true, given: scheduled(-24 * time.Hour), want: 3},
		"before we began, by a clock that was ahead, once": {listed: true, given: scheduled(-24 * time.Hour), later: reserve.Lifetime, want: 0},
		"before we began, to components":                   {listed: true, given: components, want: 4},
		"before we began, to components, at once": {listed: true, want: 0, given: func(r *reconciler, b *workv1alpha2.ResourceBinding) {
			components(r, b)
			report(workv1alpha1.Healthy)(r, b)
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r, q := newAccounting(t), workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			t.Cleanup(q.ShutDown)
			after := using("web", "1", 0)
			after.Generation, after.Spec.Clusters = 2, on(3)
			if tt.given != nil {
				tt.given(r.reconciler, after)
			}
			before := after.DeepCopy()
			before.Generation, before.Spec.Clusters = 1, nil
			if tt.had > 0 {
				before.Spec.Clusters = on(tt.had)
			}
			if tt.listed {
				r.bindings().Create(t.Context(), event.CreateEvent{Object: after, IsInInitialList: true}, q)
			} else {
				r.bindings().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
			}
			got := r.ledger.All(r.clock.Now().Add(tt.later)).Of("m")
			g.Expect(got.Pods).To(Equal(tt.want))
			g.Expect(got.Resources.Cpu().Value()).To(Equal(tt.want), "each requests one")
		})
	}
}

// components makes a binding one of a head and three workers, all of which a cluster gets.
func components(_ *reconciler, b *workv1alpha2.ResourceBinding) {
	needs := &workv1alpha2.ComponentReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
	b.Spec.Replicas, b.Spec.ReplicaRequirements = 0, nil
	b.Spec.Components = []workv1alpha2.Component{{Name: "head", Replicas: 1, ReplicaRequirements: needs}, {Name: "worker", Replicas: 3, ReplicaRequirements: needs}}
	for i := range b.Spec.Clusters {
		b.Spec.Clusters[i].Replicas = 0
	}
}
