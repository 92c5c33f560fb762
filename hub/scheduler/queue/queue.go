package queue

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// News is what changed about a cluster, as far as decisions go.
type News int

// News, the least first.
const (
	// None : nothing; an agent told that its cluster is alive, or that it has less
	// room than before.
	None News = iota
	// Room : the cluster may have room for more. That helps who waits for room.
	Room
	// Fit : what filters look at. Any binding may fit now, or no longer.
	Fit
)

// Of compares a cluster with what it was.
func Of(before, after *clusterv1alpha1.Cluster) News {
	switch {
	case before.Generation != after.Generation,
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero(),
		!maps.Equal(before.Labels, after.Labels),
		complete(before) != complete(after),
		!equality.Semantic.DeepEqual(before.Status.APIEnablements, after.Status.APIEnablements):
		return Fit
	case roomier(before.Status.ResourceSummary, after.Status.ResourceSummary):
		return Room
	default:
		return None
	}
}

// Concerns says whether news may change where a binding goes. One whose targets are
// found has nothing to gain from room elsewhere.
func Concerns(news News, status *workv1alpha2.ResourceBindingStatus) bool {
	switch news {
	case None:
		return false
	case Room:
		c := meta.FindStatusCondition(status.Conditions, workv1alpha2.BindingScheduled)
		return c != nil && c.Reason == workv1alpha2.ReasonUnschedulable
	default:
		return true
	}
}

// Priority orders bindings: by the priority of their policy first, and of equals those
// that somebody changed come before those that are looked at again.
func Priority(spec *workv1alpha2.ResourceBindingSpec, again bool) int {
	p := 0
	if spec.SchedulePriority != nil {
		p = 2 * int(spec.SchedulePriority.Priority)
	}
	if again {
		return p - 1
	}
	return p
}

func complete(c *clusterv1alpha1.Cluster) bool {
	return meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterCompleteAPIEnablements)
}

// roomier says whether a report has more of anything free than the one before, in sum
// or on some grade of nodes.
func roomier(before, after *clusterv1alpha1.ResourceSummary) bool {
	if after == nil {
		return false
	}
	if before == nil {
		return true
	}
	for name := range after.Allocatable {
		if free(before, name) < free(after, name) {
			return true
		}
	}
	counts := make(map[uint]int, len(before.AllocatableModelings))
	for _, m := range before.AllocatableModelings {
		counts[m.Grade] = m.Count
	}
	for _, m := range after.AllocatableModelings {
		if m.Count > counts[m.Grade] {
			return true
		}
	}
	return false
}

// free is what is left of a resource.
func free(s *clusterv1alpha1.ResourceSummary, name corev1.ResourceName) float64 {
	all, used, waiting := s.Allocatable[name], s.Allocated[name], s.Allocating[name]
	return all.AsApproximateFloat64() - used.AsApproximateFloat64() - waiting.AsApproximateFloat64()
}
