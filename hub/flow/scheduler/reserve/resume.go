package reserve

import (
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// Missing returns what was assigned to the targets of a binding and is not in their reports yet, which restores its reservations after a
// restart. If the application is healthy in a cluster, nothing is missing there; otherwise the status of most kinds says how many replicas
// exist. Components are all missing until the first exists.
func Missing(b workv1alpha2.Binding) []workv1alpha2.TargetCluster {
	reported := map[string]*workv1alpha2.AggregatedStatusItem{}
	for i := range b.BindingStatus().AggregatedStatus {
		item := &b.BindingStatus().AggregatedStatus[i]
		reported[item.ClusterName] = item
	}
	var out []workv1alpha2.TargetCluster
	if spec := b.BindingSpec(); bindings.HasComponents(spec) {
		for _, target := range spec.Clusters {
			if existing(reported[target.Name], 1) == 0 {
				out = append(out, workv1alpha2.TargetCluster{Name: target.Name, Components: target.Components})
			}
		}
		return out
	}
	for _, target := range b.BindingSpec().Clusters {
		if there := existing(reported[target.Name], target.Replicas); there < target.Replicas {
			out = append(out, workv1alpha2.TargetCluster{Name: target.Name, Replicas: target.Replicas - there})
		}
	}
	return out
}

// existing returns how many of the wanted replicas exist by a cluster's report.
func existing(item *workv1alpha2.AggregatedStatusItem, wanted int32) int32 {
	if item == nil {
		return 0
	}
	if item.Health == workv1alpha1.Healthy {
		return wanted
	}
	counts, _ := bindings.CountsOf(item) // 0 for kinds that do not count replicas
	return counts.Replicas
}
