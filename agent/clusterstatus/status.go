package clusterstatus

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/clusterstatus/facts"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/prose"
)

// setStatus sets the collected state in the status of the Cluster.
func setStatus(cluster *clusterv1alpha1.Cluster, seen observation, now metav1.Time) {
	setCondition(cluster, facts.Ready(seen.probe), now)
	cluster.Status.UnclaimedObjects = seen.unclaimed
	if !seen.whole {
		return
	}
	status := &cluster.Status
	status.KubernetesVersion = seen.version
	if len(seen.enablements) > 0 { // otherwise the condition says that the list is outdated
		status.APIEnablements = seen.enablements
	}
	setCondition(cluster, facts.Complete(seen.enablements, seen.partial), now)
	if seen.nodes != nil || seen.unreadReason != "" {
		status.NodeSummary = seen.nodes
	}
	// Equal quantities may be written differently.
	if (seen.resources != nil || seen.unreadReason != "") && !equality.Semantic.DeepEqual(status.ResourceSummary, seen.resources) {
		status.ResourceSummary = seen.resources
	}
	setCapacityUnknown(cluster, seen, now)
	if seen.quotasKnown && !equality.Semantic.DeepEqual(status.NamespaceQuotas, seen.quotas) {
		status.NamespaceQuotas = seen.quotas
	}
}

// setCapacityUnknown says why the member's capacity is not known, or removes that condition.
func setCapacityUnknown(cluster *clusterv1alpha1.Cluster, seen observation, now metav1.Time) {
	unknown := metav1.Condition{
		Type: clusterv1alpha1.ClusterCapacityUnknown, Status: metav1.ConditionTrue, Reason: seen.unreadReason,
		Message: prose.Cut(seen.unreadMessage+". The free resources of the cluster are unknown, so it gets no more replicas by capacity. The agent tries again by itself",
			prose.OfCondition),
	}
	switch was := meta.FindStatusCondition(cluster.Status.Conditions, unknown.Type); {
	case seen.unreadReason != "":
		setCondition(cluster, unknown, now)
	case was != nil && was.Status == metav1.ConditionTrue && seen.resources != nil:
		unknown.Status, unknown.Reason, unknown.Message = metav1.ConditionFalse, clusterv1alpha1.ReasonCapacityRead, "Nodes and pods are read again."
		setCondition(cluster, unknown, now)
	}
}

func setCondition(cluster *clusterv1alpha1.Cluster, condition metav1.Condition, now metav1.Time) {
	condition.ObservedGeneration = cluster.Generation
	condition.LastTransitionTime = now
	meta.SetStatusCondition(&cluster.Status.Conditions, condition)
}
