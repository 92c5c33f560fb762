package drain

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// Abandoned says that nobody is there to clean up in a member: its execution namespace is
// going, with the rights in it, it was forgotten, or it is not heard from.
func Abandoned(cluster *clusterv1alpha1.Cluster, namespaceGoing bool) bool {
	_, retired := cluster.Annotations[contract.RetiredAnnotation]
	return namespaceGoing || retired || !meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1alpha1.ClusterReady)
}

// Needs says whether the Works of a binding in a cluster are to stay for now: it is a
// target, or, if anybody is there, it has a copy that stays until others are healthy. A
// copy that stays until somebody lets it go does not outlast its cluster.
func Needs(spec *workv1alpha2.ResourceBindingSpec, cluster string, abandoned bool) bool {
	for i := range spec.Clusters {
		if spec.Clusters[i].Name == cluster {
			return true
		}
	}
	for i := range spec.GracefulEvictionTasks {
		task := &spec.GracefulEvictionTasks[i]
		if task.FromCluster != cluster || abandoned || ptr.Deref(task.SuppressDeletion, false) {
			continue
		}
		if mode := task.PurgeMode.Canonical(); mode != policyv1alpha1.PurgeDirectly && mode != policyv1alpha1.PurgeNever {
			return true
		}
	}
	return false
}
