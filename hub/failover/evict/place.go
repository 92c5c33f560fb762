package evict

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Ready returns how many replicas a cluster reports as ready, and whether it counts any.
func Ready(item *workv1alpha2.AggregatedStatusItem) (int32, bool) {
	if item == nil || item.Status == nil {
		return 0, false
	}
	var counts struct {
		Replicas      *int32 `json:"replicas"`
		ReadyReplicas *int32 `json:"readyReplicas"`
	}
	if err := json.Unmarshal(item.Status.Raw, &counts); err != nil || (counts.Replicas == nil && counts.ReadyReplicas == nil) {
		return 0, false
	}
	return ptr.Deref(counts.ReadyReplicas, 0), true
}

// divided says whether the replicas are shared among clusters.
func divided(spec *workv1alpha2.ResourceBindingSpec) bool {
	return spec.Placement != nil && spec.Placement.ReplicaScheduling != nil && spec.Replicas > 0 && len(spec.Components) < 2 &&
		spec.Placement.ReplicaScheduling.ReplicaSchedulingType != policyv1alpha1.Duplicated
}

// taken says whether the scheduler gives the place of a copy to another cluster. What
// goes to every cluster has no other place.
func taken(spec *workv1alpha2.ResourceBindingSpec) bool {
	return divided(spec) || spec.Placement == nil || len(spec.Placement.SpreadConstraints) > 0 || len(spec.Placement.ClusterAffinities) > 1
}

// Missing is how many replicas have no cluster; for what is not divided it is 1 as long
// as there is no cluster at all.
func Missing(spec *workv1alpha2.ResourceBindingSpec) int64 {
	if !divided(spec) {
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

// placed says whether all of the application has a cluster, and the scheduler says so of
// the binding as it is. As long as it does not, an old copy may be the last.
func placed(in *Input) bool {
	return Missing(in.Spec) <= 0 && in.Status.SchedulerObservedGeneration == in.Generation &&
		!meta.IsStatusConditionFalse(in.Status.Conditions, workv1alpha2.BindingScheduled)
}
