package applications

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// Clusters says of each cluster whether what it reported can be believed. For somebody who may
// not read Clusters it is nil: then the binding says which of its reports are old.
type Clusters map[string]Freshness

// Freshness says whether what a cluster reported is fresh, since its agent is heard from and sees the member, and since when that is so.
type Freshness struct {
	Fresh bool
	Since time.Time
}

// ClustersOf returns the Freshness of clusters, which are not changed.
func ClustersOf(clusters []clusterv1alpha1.Cluster) Clusters {
	out := make(Clusters, len(clusters))
	for i := range clusters {
		out[clusters[i].Name] = FreshnessOf(&clusters[i])
	}
	return out
}

// FreshnessOf says whether the agent of a cluster is heard from and sees its member: without
// both, what it reported is old.
func FreshnessOf(c *clusterv1alpha1.Cluster) Freshness {
	ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	if ready == nil {
		return Freshness{}
	}
	return Freshness{
		Fresh: ready.Status != metav1.ConditionUnknown && ready.Reason != clusterv1alpha1.ReasonClusterNotReachable,
		Since: ready.LastTransitionTime.Time,
	}
}
