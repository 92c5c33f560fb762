package render

import (
	"strconv"

	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// Purging returns how many replicas are still in clusters that the application leaves at
// once: as long as they are there, others must not take their place. There says whether a
// cluster still has a Work of the binding.
func Purging(spec *workv1alpha2.ResourceBindingSpec, there func(cluster string) bool) int32 {
	if !bindings.Divided(spec) {
		return 0
	}
	var sum int32
	for i := range spec.GracefulEvictionTasks {
		task := &spec.GracefulEvictionTasks[i]
		if task.PurgeMode.Canonical() == policyv1alpha1.PurgeDirectly && there(task.FromCluster) {
			sum += ptr.Deref(task.Replicas, 0)
		}
	}
	return sum
}

// Hold returns the share that a cluster may have while so many replicas are being purged
// elsewhere, given the Work that it has: not less than there, and no more than leaves room
// for all of those. Together the shares never exceed what the template asks for.
func Hold(share int32, live *workv1alpha1.Work, purging int32) int32 {
	if purging == 0 || live == nil {
		return share
	}
	has, err := strconv.ParseInt(live.Annotations[contract.ReplicasAnnotation], 10, 32)
	if err != nil {
		return share // it was rendered by an earlier version, or the share does not count
	}
	return min(share, max(int32(has), share-purging))
}
