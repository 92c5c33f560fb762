package fit

import (
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// sameGroup returns whether two workloads are in the same affinity group, and whether in the same anti-affinity group.
func sameGroup(a, b *workv1alpha2.WorkloadAffinityGroups) (together, apart bool) {
	if a == nil || b == nil {
		return false, false
	}
	return a.AffinityGroup != "" && a.AffinityGroup == b.AffinityGroup,
		a.AntiAffinityGroup != "" && a.AntiAffinityGroup == b.AntiAffinityGroup
}

// PeersOf returns the bindings among others in the same affinity or anti-affinity group as a binding, with their targets. Bindings without
// targets are left out.
func PeersOf[B workv1alpha2.Binding](b workv1alpha2.Binding, others []B, targets func(B) []workv1alpha2.TargetCluster) Peers {
	var out Peers
	for _, other := range others {
		together, apart := sameGroup(b.BindingSpec().WorkloadAffinityGroups, other.BindingSpec().WorkloadAffinityGroups)
		if other.GetName() == b.GetName() || !together && !apart {
			continue
		}
		at := targets(other)
		if len(at) == 0 {
			continue
		}
		peer := Peer{Name: other.GetName(), Clusters: bindings.ClustersOf(at)}
		if together {
			out.Together = append(out.Together, peer)
		}
		if apart {
			out.Apart = append(out.Apart, peer)
		}
	}
	return out
}
