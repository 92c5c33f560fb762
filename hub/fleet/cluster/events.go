package cluster

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/fleet/cluster/taint"
)

// Reasons of events on Clusters.
const (
	reasonNamespaceMade    = "CreateExecutionSpaceSucceed"
	reasonNamespaceFailed  = "CreateExecutionSpaceFailed"
	reasonNamespaceRemoved = "RemoveExecutionSpaceSucceed"
	reasonRemovalFailed    = "RemoveExecutionSpaceFailed"
	reasonTaintSucceeded   = "TaintClusterSucceed"
	reasonTaintFailed      = "TaintClusterFailed"
	reasonRemovalWaits     = "ClusterRemovalWaits"
	reasonFlapping         = "ClusterFlapping"
	reasonLineUnstable     = "LineUnstable"
	reasonCapacityJumped   = "CapacityJumped"
	reasonPolicyInvalid    = "ClusterTaintPolicyInvalid"
)

// Actions of events on Clusters.
const (
	actionJoining   = "Joining"
	actionTainting  = "Tainting"
	actionRemoving  = "Removing"
	actionComparing = "Comparing"
	actionHearing   = "Hearing"
)

func normal(cluster *clusterv1alpha1.Cluster, reason, action, note string) eventsink.Event {
	return eventsink.Event{
		Regarding: cluster, Type: corev1.EventTypeNormal, Reason: reason, Action: action, Note: note, Detail: true,
	}
}

func warning(cluster *clusterv1alpha1.Cluster, reason, action, note string) eventsink.Event {
	return eventsink.Event{Regarding: cluster, Type: corev1.EventTypeWarning, Reason: reason, Action: action, Note: note}
}

func namespaceMade(cluster *clusterv1alpha1.Cluster, namespace string) eventsink.Event {
	return normal(cluster, reasonNamespaceMade, actionJoining,
		fmt.Sprintf("Created execution space(%s) for cluster(%s).", namespace, cluster.Name))
}

func namespaceFailed(cluster *clusterv1alpha1.Cluster, err error) eventsink.Event {
	return warning(cluster, reasonNamespaceFailed, actionJoining,
		fmt.Sprintf("The execution namespace of cluster %s could not be made, so nothing can be sent there: %v.", cluster.Name, err))
}

func taintSucceeded(cluster *clusterv1alpha1.Cluster, taints []corev1.Taint) eventsink.Event {
	return normal(cluster, reasonTaintSucceeded, actionTainting, "Taint cluster succeed: "+taint.Sentence(taints)+".")
}

func taintFailed(cluster *clusterv1alpha1.Cluster, err error) eventsink.Event {
	return warning(cluster, reasonTaintFailed, actionTainting,
		fmt.Sprintf("The taints of cluster %s could not be written: %v.", cluster.Name, err))
}

// notReady is the event about a Cluster that became NotReady.
func notReady(cluster *clusterv1alpha1.Cluster, ready *metav1.Condition) eventsink.Event {
	var note string
	switch {
	case ready.Reason == clusterv1alpha1.ReasonClusterStatusNeverUpdated:
		note = fmt.Sprintf("Cluster %s has not been heard from since it joined; check whether its agent runs and reaches the hub.", cluster.Name)
	case ready.Reason == clusterv1alpha1.ReasonAgentDisconnected:
		note = fmt.Sprintf("The line of cluster %s to the hub was lost and is not back: its agent was stopped, or its machine or network failed. "+
			"What runs there goes on, nothing new is sent. Check whether the agent runs and reaches the hub.", cluster.Name)
	case ready.Status == metav1.ConditionUnknown:
		note = fmt.Sprintf("Cluster %s is no longer heard from; what runs there goes on, nothing new is sent. "+
			"Check whether its agent runs and reaches the hub.", cluster.Name)
	default:
		note = fmt.Sprintf("Cluster %s is not ready and gets nothing new: %s.", cluster.Name, ready.Message)
	}
	return warning(cluster, ready.Reason, actionTainting, note)
}

// settling is the event about a Cluster whose heartbeats are back, but come and go.
func settling(cluster *clusterv1alpha1.Cluster, silences int, until time.Time) eventsink.Event {
	return warning(cluster, reasonFlapping, actionTainting,
		fmt.Sprintf("Cluster %s is back, but fell silent %d times lately: its taints stay until %s, or longer if it falls silent again. "+
			"Check the network between it and the hub.", cluster.Name, silences, until.UTC().Format(time.RFC3339)))
}

// lineUnstable is the event about a line that is lost again and again, whether the Cluster is Ready or not.
func lineUnstable(cluster *clusterv1alpha1.Cluster, losses int) eventsink.Event {
	return warning(cluster, reasonLineUnstable, actionHearing,
		fmt.Sprintf("The line of cluster %s to the hub was lost %d times within ten minutes, which ended the requests of operators. "+
			"Look for a proxy or firewall between them that ends connections after a while or when they are idle.", cluster.Name, losses))
}

// warningOf is the key of a Cluster's warnings; a later Cluster of the same name has another.
func warningOf(cluster *clusterv1alpha1.Cluster, what string) string {
	return string(cluster.UID) + " " + what
}

func capacityJumped(cluster *clusterv1alpha1.Cluster, message string) eventsink.Event {
	return warning(cluster, reasonCapacityJumped, actionComparing, message)
}

func policyInvalid(policy *policyv1alpha1.ClusterTaintPolicy, err error) eventsink.Event {
	return eventsink.Event{
		Regarding: policy, Type: corev1.EventTypeWarning, Reason: reasonPolicyInvalid, Action: actionTainting,
		Note: fmt.Sprintf("ClusterTaintPolicy %s taints nothing: correct spec.targetClusters: %v.", policy.Name, err),
	}
}

func namespaceRemoved(cluster *clusterv1alpha1.Cluster) eventsink.Event {
	return normal(cluster, reasonNamespaceRemoved, actionRemoving,
		fmt.Sprintf("Removed execution space for cluster(%s).", cluster.Name))
}

func removalFailed(cluster *clusterv1alpha1.Cluster, err error) eventsink.Event {
	return warning(cluster, reasonRemovalFailed, actionRemoving,
		fmt.Sprintf("The execution namespace of cluster %s could not be deleted: %v.", cluster.Name, err))
}

func removalWaits(cluster *clusterv1alpha1.Cluster, what string) eventsink.Event {
	return warning(cluster, reasonRemovalWaits, actionRemoving, what)
}

func stillTargeted(cluster, example string, count int) string {
	return fmt.Sprintf("Cluster %s is not removed yet, because %d bindings still need it, for example %s: "+
		"place them elsewhere, or delete their templates.", cluster, count, example)
}

func stillDraining(cluster string, left int) string {
	return fmt.Sprintf("Cluster %s is not removed yet, because %d Works are still in its execution namespace: "+
		"find those with a finalizer that is not the hub's or the agent's.", cluster, left)
}

func stillTerminating(cluster, namespace string) string {
	return fmt.Sprintf("Cluster %s is not removed yet, because namespace %s still holds objects: find those with a finalizer.", cluster, namespace)
}

func sameTaints(a, b []corev1.Taint) bool {
	return slices.EqualFunc(a, b, func(a, b corev1.Taint) bool {
		return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect
	})
}
