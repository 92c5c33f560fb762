package disruption

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// StartGrace is how long members may take to be heard from again by a hub that starts, given after how much silence it gives
// up those that have nothing but their lease: who keeps a line open renews the lease rarely, and all open their lines again
// one after the other.
func StartGrace(silence time.Duration) time.Duration { return silence * 3 / 2 }

// ActFrom is from when on the silence of a cluster may be acted on, given after how much of it the hub gives up members
// that have nothing but their lease, and since when this process follows the clusters; zero if it is not silent. That the
// line of an agent was lost is known within seconds, long before leases tell whether the others are heard: whatever is hard
// to take back waits until they would. A hub that starts and finds that the one before it has just lost lines has not waited
// for anybody: it gives them their time anew. That a lease was not renewed was waited for already.
func ActFrom(c *clusterv1alpha1.Cluster, silence time.Duration, began time.Time) time.Time {
	since := Since(c)
	if since.IsZero() {
		return since
	}
	if !disconnected(c) {
		return since
	}
	counts := since.Add(silence)
	if anew := began.Add(StartGrace(silence)); since.Before(began) && anew.After(counts) {
		return anew
	}
	return counts
}

// disconnected says that a cluster is silent because the line of its agent was lost, which is known early.
func disconnected(c *clusterv1alpha1.Cluster) bool {
	ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	return ready != nil && ready.Reason == clusterv1alpha1.ReasonAgentDisconnected && !Since(c).IsZero()
}
