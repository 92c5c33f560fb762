package failover

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/adjust/failover/evict"
)

// Reasons of events.
const (
	reasonEvicting       = "EvictWorkloadFromCluster"
	reasonEvictSucceeded = "EvictWorkloadFromClusterSucceed"
	reasonEvictFailed    = "EvictWorkloadFromClusterFailed"
	reasonReturned       = "EvictWorkloadFromClusterWithdrawn"
)

const actionEvict = "Evict"

// both returns the same event for a binding and for its template. About is the cluster concerned; empty if there is
// none.
func both(b kube.Binding, about, eventType, reason, note string) []eventsink.Event {
	var cluster runtime.Object
	if about != "" {
		cluster = &corev1.ObjectReference{APIVersion: clusterv1alpha1.GroupVersion.String(), Kind: "Cluster", Name: about}
	}
	return []eventsink.Event{
		{Regarding: b, Related: cluster, Type: eventType, Reason: reason, Action: actionEvict, Note: note},
		{Regarding: bindings.TemplateRef(b), Related: cluster, Type: eventType, Reason: reason, Action: actionEvict, Note: note},
	}
}

func evicted(b kube.Binding, task *workv1alpha2.GracefulEvictionTask) []eventsink.Event {
	return both(b, task.FromCluster, corev1.EventTypeWarning, reasonEvicting, fmt.Sprintf("Leaving cluster %s (%s). %s", task.FromCluster, task.PurgeMode, task.Message))
}

func ended(b kube.Binding, e evict.Ended) []eventsink.Event {
	if e.How == workv1alpha2.EvictionReturned {
		return both(b, e.Cluster, corev1.EventTypeNormal, reasonReturned,
			fmt.Sprintf("Staying in cluster %s, which recovered before another cluster took its place.", e.Cluster))
	}
	return both(b, e.Cluster, corev1.EventTypeNormal, reasonEvictSucceeded, fmt.Sprintf("Evict from cluster %s succeed.", e.Cluster))
}

func evictionFailed(b kube.Binding, cluster string, err error) []eventsink.Event {
	return both(b, cluster, corev1.EventTypeWarning, reasonEvictFailed, fmt.Sprintf("Evict from cluster %s failed. %v", cluster, err))
}

// notMoved are the events about an application that stays where it should not.
func notMoved(b kube.Binding, c *metav1.Condition) []eventsink.Event {
	return both(b, "", corev1.EventTypeWarning, c.Reason, c.Message)
}

func suspension(c *clusterv1alpha1.Cluster, verdict disruption.Verdict) eventsink.Event {
	return eventsink.Event{
		Regarding: c, Type: corev1.EventTypeWarning, Reason: verdict.Reason(c.Name), Action: actionEvict, Note: verdict.Message(c.Name),
	}
}
