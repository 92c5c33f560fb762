package admit

import (
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/judge"
)

// catchUp sends what they missed to clusters that have a slot. It stops when as many have failed
// at that as may catch up at a time. While it lets nobody in, nobody waits for a slot: those who do
// would keep the slots from all other rollouts of the strategy.
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

// giveBack takes those from the slots, and from the queue for them, about whom nothing is decided. Who has not got yet what it missed
// returns, and asks for a slot again: others may have taken that one.
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

// withoutSlot is how a cluster is that gives its slot back, or its place in the queue, given whether it has what it is to have.
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
