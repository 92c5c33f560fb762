package clusterstatus

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/clusterstatus/facts"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// setStatus puts what was observed into the status of the Cluster.
func setStatus(cluster *clusterv1alpha1.Cluster, seen observation, now metav1.Time) {
	setCondition(cluster, facts.Ready(seen.probe), now)
	cluster.Status.UnclaimedObjects = seen.unclaimed
	if !seen.whole {
		return
	}
	status := &cluster.Status
	status.KubernetesVersion = seen.version
	if len(seen.enablements) > 0 { // otherwise the condition says that they are old
		status.APIEnablements = seen.enablements
	}
	setCondition(cluster, facts.Complete(seen.enablements, seen.partial), now)
	if seen.nodes != nil {
		status.NodeSummary = seen.nodes
	}
	// Equal quantities may be written in more than one way.
	if seen.resources != nil && !equality.Semantic.DeepEqual(status.ResourceSummary, seen.resources) {
		status.ResourceSummary = seen.resources
	}
	if seen.quotasKnown && !equality.Semantic.DeepEqual(status.NamespaceQuotas, seen.quotas) {
		status.NamespaceQuotas = seen.quotas
	}
}

func setCondition(cluster *clusterv1alpha1.Cluster, condition metav1.Condition, now metav1.Time) {
	condition.ObservedGeneration = cluster.Generation
	condition.LastTransitionTime = now
	meta.SetStatusCondition(&cluster.Status.Conditions, condition)
}
