package fit

import (
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// property rejects clusters without a property that a spread constraint needs.
func property(q *Query, c *clusterv1alpha1.Cluster) string {
	for i := range q.Spread {
		s := &q.Spread[i]
		switch {
		case s.SpreadByLabel != "":
			if c.Labels[s.SpreadByLabel] == "" {
				return "cluster(s) did not have label " + s.SpreadByLabel
			}
		case s.SpreadByField == policyv1alpha1.SpreadByProvider && c.Spec.Provider == "":
			return "cluster(s) did not have provider property"
		case s.SpreadByField == policyv1alpha1.SpreadByRegion && c.Spec.Region == "":
			return "cluster(s) did not have region property"
		case s.SpreadByField == policyv1alpha1.SpreadByZone && len(c.Spec.Zones) == 0 && c.Spec.Zone == "":
			return "cluster(s) did not have zones property"
		}
	}
	return ""
}

// together rejects clusters without some workload of the same affinity group.
func together(q *Query, c *clusterv1alpha1.Cluster) string {
	if q.Targets.Has(c.Name) {
		return ""
	}
	for _, peer := range q.Peers.Together {
		if peer.Clusters.Len() > 0 && !peer.Clusters.Has(c.Name) {
			return "ResourceBinding with the same affinity group does not target this cluster"
		}
	}
	return ""
}

// apart rejects clusters with a workload of the same anti-affinity group.
func apart(q *Query, c *clusterv1alpha1.Cluster) string {
	if q.Targets.Has(c.Name) {
		return ""
	}
	for _, peer := range q.Peers.Apart {
		if peer.Clusters.Has(c.Name) {
			return "cluster already has workload with the same anti-affinity group"
		}
	}
	return ""
}
