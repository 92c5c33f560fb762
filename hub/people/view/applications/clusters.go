package applications

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// Clusters has the freshness of each cluster's reports. It is nil for users who may not read Clusters: then the binding
// says which reports are stale.
type Clusters map[string]Freshness

// Freshness says whether the reports of a cluster are current, because its agent is heard from and reaches the member,
// and since when.
type Freshness struct {
	Fresh bool
	Since time.Time
}

// ClustersOf returns the freshness of clusters.
func ClustersOf(clusters []clusterv1alpha1.Cluster) Clusters {
	out := make(Clusters, len(clusters))
	for i := range clusters {
		out[clusters[i].Name] = FreshnessOf(&clusters[i])
	}
	return out
}

// FreshnessOf says whether the agent of a cluster is heard from and reaches its member; otherwise its reports are old.
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
