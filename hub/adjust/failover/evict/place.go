package evict

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// taken says whether the scheduler gives the place of a copy to another cluster. An application that goes to every
// cluster has no other place.
func taken(spec *workv1alpha2.ResourceBindingSpec) bool {
	return bindings.Divided(spec) || spec.Placement == nil || len(spec.Placement.SpreadConstraints) > 0 || len(spec.Placement.ClusterAffinities) > 1
}

// Missing is how many replicas have no cluster. If replicas are not divided, it is 1 while there is no cluster at all.
func Missing(spec *workv1alpha2.ResourceBindingSpec) int64 {
	if !bindings.Divided(spec) {
		if len(spec.Clusters) == 0 {
			return 1
		}
		return 0
	}
	missing := int64(spec.Replicas)
	for i := range spec.Clusters {
		missing -= int64(spec.Clusters[i].Replicas)
	}
	return missing
}

// placed says whether the scheduler has placed all of the current generation, or as much as the bounds of its replicas
// allow. Otherwise an old copy may be the last one. A binding that is over its quota since its placement counts as
// placed.
func placed(in *Input) bool {
	missing := Missing(in.Spec) > 0
	c := meta.FindStatusCondition(in.Status.Conditions, workv1alpha2.BindingScheduled)
	if c != nil && c.Reason == workv1alpha2.ReasonQuotaExceeded && c.ObservedGeneration == in.Generation {
		return !missing && (bindings.Divided(in.Spec) || !taken(in.Spec) ||
			len(bindings.Replacing(in.Spec, in.Past, in.Spec.Clusters)) >= len(in.Spec.GracefulEvictionTasks))
	}
	return (!missing || bindings.Bounded(in.Spec)) && in.Status.SchedulerObservedGeneration == in.Generation &&
		(c == nil || c.Status != metav1.ConditionFalse)
}
