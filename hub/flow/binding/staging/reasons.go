package staging

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// Reasons are why clusters have an object that follows rollouts: the scheduler chose them for it, or workloads need it there. There may
// be thousands of clusters, and each is asked about.
type Reasons struct {
	// own says that the object has a rollout of its own.
	own bool
	// rollouts are those of workloads that the object follows.
	rollouts  []string
	byCluster map[string]reason
}

// reason is why one cluster has the object: the scheduler chose it, or workloads need it there, by NAMESPACE/NAME of their bindings.
type reason struct {
	assigned  bool
	workloads []string
}

// ReasonsOf returns those of the object of a binding that follows rollouts of these names (see Candidate.Rollout).
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

// Has says whether a rollout has a say about the object in a cluster: its own has in all, that of a workload where this needs the object.
func (r Reasons) Has(cluster, rollout string) bool {
	return rollout == "" || slices.Contains(r.byCluster[cluster].workloads, rollout)
}

// Independent says whether a cluster would have the object without any rollout: by a policy of its own, or since a workload needs the
// object there that has no rollout.
func (r Reasons) Independent(cluster string) bool {
	if r.own {
		return false
	}
	one := r.byCluster[cluster]
	return one.assigned || slices.ContainsFunc(one.workloads, func(name string) bool { return !slices.Contains(r.rollouts, name) })
}
