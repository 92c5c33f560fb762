package admit

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/flow/rollout/judge"
)

// writeCaughtUp says who was left behind by a revision that is stable.
func (r *rollout) writeCaughtUp() {
	before := meta.FindStatusCondition(r.in.Status.Conditions, fairleadv1alpha1.RolloutConditionCaughtUp)
	behind := map[fairleadv1alpha1.ClusterState]int{}
	var oldest *member
	total, failed, unsent := 0, 0, 0
	for _, m := range r.members {
		if r.isBeingSent(m) {
			unsent++
		}
		if r.stable.Zero() || judge.Has(m.Work, r.stable) && !m.in(fairleadv1alpha1.ClusterCatchingUp) || m.Work.Revision.Number > r.stable.Number ||
			!m.in(fairleadv1alpha1.ClusterSetAside, fairleadv1alpha1.ClusterReturning, fairleadv1alpha1.ClusterCatchingUp) {
			continue
		}
		total++
		behind[m.now.state]++
		if m.in(fairleadv1alpha1.ClusterCatchingUp) && m.now.reason != "" {
			failed++
		}
		if m.silent() && (oldest == nil || m.SilentSince.Before(oldest.SilentSince)) {
			oldest = m
		}
	}
	if total == 0 {
		if before != nil && before.Status == metav1.ConditionFalse && before.Reason == fairleadv1alpha1.ReasonRolloutClustersBehind {
			r.say(false, EventCaughtUp, fmt.Sprintf("All clusters that were left behind have caught up with revision %d.", r.stable.Number))
		}
		if unsent > 0 {
			r.condition(fairleadv1alpha1.RolloutConditionCaughtUp, false, Reason{
				fairleadv1alpha1.ReasonRolloutBeingSent, fmt.Sprintf("%s still without revision %d, which is about to be sent; if this does not change, see the conditions of the binding.", clustersAre(unsent), r.stable.Number),
			})
		} else {
			r.condition(fairleadv1alpha1.RolloutConditionCaughtUp, true, Reason{fairleadv1alpha1.ReasonRolloutNobodyBehind, "No cluster was left behind."})
		}
		return
	}
	message := fmt.Sprintf("%s behind revision %d: %d silent or suspended, %d waiting, %d catching up.", clustersAre(total), r.stable.Number,
		behind[fairleadv1alpha1.ClusterSetAside], behind[fairleadv1alpha1.ClusterReturning], behind[fairleadv1alpha1.ClusterCatchingUp])
	if failed > 0 {
		message += fmt.Sprintf(" %d of the latter failed or fell silent.", failed)
	}
	if failed >= int(*r.spec.CatchUp.MaxClusters) {
		message += " So no other cluster catches up: run hub rollout retry, or hub rollout skip for them."
	}
	if oldest != nil {
		message += fmt.Sprintf(" Silent for the longest is %s.", oldest.name)
	}
	r.condition(fairleadv1alpha1.RolloutConditionCaughtUp, false, Reason{fairleadv1alpha1.ReasonRolloutClustersBehind, message})
}

// isBeingSent says whether a target is to have the stable revision as things are, and its Work does not have it yet: it was only
// just chosen, or all are given it at once. Who waits for that revision must not be told that everybody has it. One whose Cluster is gone is
// sent nothing.
func (r *rollout) isBeingSent(m *member) bool {
	if r.stable.Zero() || m.left || m.Gone || judge.Has(m.Work, r.stable) || m.Work.Revision.Number > r.stable.Number {
		return false
	}
	return m.in(fairleadv1alpha1.ClusterHeld) && m.now.revision == r.stable.Number || r.completed && m.in(fairleadv1alpha1.ClusterInFlight)
}
