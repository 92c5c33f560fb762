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

// Purging returns how many replicas are still in clusters from which the application is purged directly. While they are there, others must
// not replace them. There returns whether a cluster still has a Work of the binding.
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

// Hold returns the share that a cluster may have while so many replicas are being purged elsewhere, given its present Work: at least what
// the cluster has, and no more than leaves room for all of these. The shares together never exceed the template's replicas.
func Hold(share int32, live *workv1alpha1.Work, purging int32) int32 {
	if purging == 0 || live == nil {
		return share
	}
	has, err := strconv.ParseInt(live.Annotations[contract.ReplicasAnnotation], 10, 32)
	if err != nil {
		return share // an earlier version rendered it, or the share does not matter
	}
	return min(share, max(int32(has), share-purging))
}
