package admit

import (
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/judge"
)

// catchUp sends clusters that have a slot the revision that they missed. It stops when as many clusters have failed to catch up as may do
// so at a time. While it is stopped, no cluster waits for a slot, which would keep slots from other rollouts of the strategy.
func (r *rollout) catchUp() {
	stopped := r.blocked() || r.failedCatchingUp() >= int(*r.spec.CatchUp.MaxClusters)
	for _, m := range r.members {
		switch {
		case !m.in(fairleadv1alpha1.ClusterReturning) || m.now.reason != fairleadv1alpha1.ClusterReasonSlot:
		case stopped:
			m.is(fairleadv1alpha1.ClusterReturning, fairleadv1alpha1.ClusterReasonNobodyLetIn, 0)
		case r.in.Slots.Has(m.name):
			m.is(fairleadv1alpha1.ClusterCatchingUp, "", r.missed(m).Number)
		}
	}
}

// giveBack returns the clusters without any in slots or in the queue for them, for when nothing can be decided. A cluster that does not
// have the revision that it missed is Returning, and needs a slot again, since others may have taken its own.
func giveBack(in Input) []fairleadv1alpha1.ClusterGroup {
	works := make(map[string]judge.Work, len(in.Clusters))
	for i := range in.Clusters {
		works[in.Clusters[i].Cluster.Name] = in.Clusters[i].Work
	}
	names := map[position][]string{}
	for _, g := range in.Status.Clusters {
		before := position{g.State, g.Reason, g.Revision}
		for _, name := range g.Names {
			at := withoutSlot(before, judge.Has(works[name], revision.Of(in.Status.Revisions, g.Revision)))
			names[at] = append(names[at], name)
		}
	}
	return grouped(names)
}

// withoutSlot returns the position of a cluster after it gives back its slot, or its place in the queue. Has says that it has the revision
// to catch up to.
func withoutSlot(at position, has bool) position {
	const nobody = fairleadv1alpha1.ClusterReasonNobodyLetIn
	switch {
	case at.state == fairleadv1alpha1.ClusterReturning && at.reason == fairleadv1alpha1.ClusterReasonSlot:
		at.reason = nobody
	case at.state == fairleadv1alpha1.ClusterCatchingUp && (at.reason == "" || at.reason == nobody):
		at.reason = nobody
		if !has {
			at.state, at.revision = fairleadv1alpha1.ClusterReturning, 0
		}
	}
	return at
}

func (r *rollout) failedCatchingUp() int {
	n := 0
	for _, m := range r.members {
		if m.in(fairleadv1alpha1.ClusterCatchingUp) && m.now.reason != "" {
			n++
		}
	}
	return n
}
