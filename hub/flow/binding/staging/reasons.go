package staging

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// Reasons say why clusters have an object that follows rollouts: the scheduler chose them for it, or workloads need it there. It is called
// for each of perhaps thousands of clusters.
type Reasons struct {
	// own says that the object has its own rollout.
	own bool
	// rollouts are those of workloads that the object follows.
	rollouts  []string
	byCluster map[string]reason
}

// reason says why one cluster has the object: the scheduler chose it, or workloads need it there, by NAMESPACE/NAME of their bindings.
type reason struct {
	assigned  bool
	workloads []string
}

// ReasonsOf returns the reasons for a binding's object that follows rollouts with these names (see Candidate.Rollout).
func ReasonsOf(b workv1alpha2.Binding, rollouts []string) Reasons {
	spec := b.BindingSpec()
	out := Reasons{own: bindings.IsStaged(b), rollouts: rollouts, byCluster: make(map[string]reason, len(spec.Clusters))}
	for i := range spec.Clusters {
		out.byCluster[spec.Clusters[i].Name] = reason{assigned: true}
	}
	snapshots := bindings.Snapshots(spec)
	for i := range snapshots {
		workload := types.NamespacedName{Namespace: snapshots[i].Namespace, Name: snapshots[i].Name}.String()
		for _, target := range snapshots[i].Clusters {
			one := out.byCluster[target.Name]
			one.workloads = append(one.workloads, workload)
			out.byCluster[target.Name] = one
		}
	}
	return out
}

// Has returns whether a rollout applies to the object in a cluster: its own does in all, that of a workload where the workload needs the
// object.
func (r Reasons) Has(cluster, rollout string) bool {
	return rollout == "" || slices.Contains(r.byCluster[cluster].workloads, rollout)
}

// Independent returns whether a cluster would have the object without any rollout: by a policy of its own, or because a workload without a
// rollout needs it there.
func (r Reasons) Independent(cluster string) bool {
	if r.own {
		return false
	}
	one := r.byCluster[cluster]
	return one.assigned || slices.ContainsFunc(one.workloads, func(name string) bool { return !slices.Contains(r.rollouts, name) })
}
