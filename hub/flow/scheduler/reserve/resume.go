package reserve

import (
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// Missing returns what a binding was assigned and its clusters have not reported yet:
// after a restart, that is what its reservations were about. A cluster that is well has
// all of it; else the status of most kinds says how many there are. Components are all missing
// until the first is there.
func Missing(b workv1alpha2.Binding) []workv1alpha2.TargetCluster {
	reported := map[string]*workv1alpha2.AggregatedStatusItem{}
	for i := range b.BindingStatus().AggregatedStatus {
		item := &b.BindingStatus().AggregatedStatus[i]
		reported[item.ClusterName] = item
	}
	var out []workv1alpha2.TargetCluster
	if spec := b.BindingSpec(); len(spec.Components) > 1 {
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

// existing is how many of the wanted replicas a cluster says that there are.
func existing(item *workv1alpha2.AggregatedStatusItem, wanted int32) int32 {
	if item == nil {
		return 0
	}
	if item.Health == workv1alpha1.Healthy {
		return wanted
	}
	counts, _ := bindings.CountsOf(item) // none of what does not count replicas
	return counts.Replicas
}
