package decide

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// room is how much fits into a cluster, regardless of quotas.
type room struct {
	fit.Capacity

	// quotas are those of the cluster's namespaces, in which less may fit.
	quotas []clusterv1alpha1.NamespaceQuota
}

// capacities returns a function that returns how much fits into the i-th candidate. It must be called with ascending indexes.
func (a *attempt) capacities() func(i int) fit.Capacity {
	alone := func(i int) fit.Capacity {
		c := a.clusters[i]
		return a.capacity(c, a.in.Assumed.Of(c.Name), a.in.Spec.Resource.Namespace)
	}
	if a.refused == nil {
		return alone
	}
	key, err := json.Marshal(sizeOf(a.in.Spec))
	if err != nil || !a.in.Memo.fits.again(string(key)) {
		return alone
	}
	reserved := &a.in.Memo.reserved
	reserved.look(a.in.Clusters, a.in.Assumed)
	rooms := a.in.Memo.fits.get(string(key), reserved, func(i int) room {
		c := a.in.Clusters[i]
		return room{a.capacity(c, reserved.assumed(i), ""), c.Status.NamespaceQuotas}
	})
	// Both lists are sorted by name, and all candidates are among the clusters.
	next := 0
	return func(i int) fit.Capacity {
		for a.in.Clusters[next] != a.clusters[i] {
			next++
		}
		ofNamespace := func(q clusterv1alpha1.NamespaceQuota) bool { return q.Namespace == a.in.Spec.Resource.Namespace }
		if slices.ContainsFunc(rooms[next].quotas, ofNamespace) {
			return alone(i)
		}
		return rooms[next].Capacity
	}
}

// size is all of an application that its capacity in a cluster depends on.
type size struct {
	Request    corev1.ResourceList      `json:"request,omitempty"`
	Components []workv1alpha2.Component `json:"components,omitempty"`
}

func sizeOf(spec *workv1alpha2.ResourceBindingSpec) size {
	s := size{Components: spec.Components}
	if spec.ReplicaRequirements != nil {
		s.Request = spec.ReplicaRequirements.ResourceRequest
	}
	return s
}

// capacity returns how much fits into a cluster, given what was assigned to it and is not in its reports yet.
func (a *attempt) capacity(c *clusterv1alpha1.Cluster, assumed fit.Assumed, namespace string) fit.Capacity {
	if bindings.HasComponents(a.in.Spec) {
		return fit.Sets(c, assumed, namespace, a.in.Spec.Components)
	}
	return fit.Replicas(c, assumed, namespace, a.in.Spec.ReplicaRequirements)
}
