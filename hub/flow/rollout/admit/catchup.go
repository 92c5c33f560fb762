package admit

import (
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// catchUp sends what they missed to clusters that have a slot. It stops when as many have failed
// at that as may catch up at a time.
func (r *rollout) catchUp() {
	if r.blocked() || r.failedCatchingUp() >= int(*r.spec.CatchUp.MaxClusters) {
		return
	}
	for _, m := range r.members {
		if m.in(fairleadv1alpha1.ClusterReturning) && m.now.reason == fairleadv1alpha1.ClusterReasonSlot && r.in.Slots.Has(m.name) {
			m.is(fairleadv1alpha1.ClusterCatchingUp, "", r.missed(m).Number)
		}
	}
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
