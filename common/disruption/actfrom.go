package disruption

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// StartGrace returns how long members have to contact a hub that was started, given the silence after which the hub
// considers members with only a lease lost: an agent with a line renews its lease rarely, and all agents reopen their
// lines one after the other. While they keep coming, the grace is extended: see HeardBy.
func StartGrace(silence time.Duration) time.Duration { return silence * 3 / 2 }

// KnownFrom returns from when on a process that began to follow the clusters at began knows a member's state at first
// hand: either it has heard from the member since, or the member is shown as silent. Until then the Cluster may show
// what was known before. Members have until heardBy to come back (see HeardBy); silence is as for StartGrace, and
// patience is what the member's lease asks for. The stage that marks silent members needs some time as well.
func KnownFrom(began, heardBy time.Time, silence, patience time.Duration) time.Time {
	known := began.Add(max(StartGrace(silence), patience))
	if heardBy.After(known) {
		known = heardBy
	}
	return known.Add(Wait)
}

// ActFrom returns from when on the silence of a cluster may be acted on, given the silence after which the hub
// considers members with only a lease lost, and since when this process has followed the clusters; zero if it is not
// silent. A lost line is known within seconds, long before leases reveal whether other members are silent too:
// whatever is hard to undo waits for that. A hub that starts and finds lines that its predecessor has just lost has
// waited for nobody: it gives these members their time anew, until heardBy if that is later. For an expired lease the
// hub has already waited.
func ActFrom(c *clusterv1alpha1.Cluster, silence time.Duration, began, heardBy time.Time) time.Time {
	since := Since(c)
	if since.IsZero() {
		return since
	}
	if !disconnected(c) {
		return since
	}
	counts := since.Add(silence)
	if !since.Before(began) {
		return counts
	}
	for _, anew := range []time.Time{began.Add(StartGrace(silence)), heardBy} {
		if anew.After(counts) {
			counts = anew
		}
	}
	return counts
}

// disconnected returns whether a cluster is silent because its agent's line was lost, which is known early.
func disconnected(c *clusterv1alpha1.Cluster) bool {
	ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	return ready != nil && ready.Reason == clusterv1alpha1.ReasonAgentDisconnected && !Since(c).IsZero()
}
