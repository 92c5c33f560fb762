package admit

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/flow/rollout/plan"
)

// findHalt decides whether the rollout halts. A halt because of failed clusters lasts until a person acts on it, even if these recover; one
// because of lost clusters ends when enough of these are healthy again.
func (r *rollout) findHalt() {
	if r.completed {
		r.findFailedGoingBack()
		return
	}
	for _, w := range r.waves {
		allowed := r.budget(w)
		if w.status.StartedAt == nil || r.failures(w) <= allowed {
			continue
		}
		reason := fairleadv1alpha1.ReasonRolloutLostOnly
		if r.failed(w) > allowed {
			reason = fairleadv1alpha1.ReasonRolloutTooManyFailed
		}
		if r.halt == nil || reason == fairleadv1alpha1.ReasonRolloutTooManyFailed && r.halt.Reason != reason {
			r.halt = &Reason{reason, r.haltMessage(w, allowed)}
		}
	}
	before := meta.FindStatusCondition(r.in.Status.Conditions, fairleadv1alpha1.RolloutConditionHalted)
	if before != nil && before.Status == "True" && before.Reason == fairleadv1alpha1.ReasonRolloutTooManyFailed && !r.lifted &&
		(r.halt == nil || r.halt.Reason != before.Reason) {
		r.halt = &Reason{before.Reason, before.Message}
	}
}

// adviseHalt adds to the message what people can do.
func (r *rollout) adviseHalt() {
	const advice = " The clusters keep what they have. Fix the cause and run hub rollout retry, or use hub rollout skip, undo or abort."
	if r.halt != nil && !r.completed && !strings.HasSuffix(r.halt.Message, advice) {
		r.halt.Message += advice
	}
}

// findFailedGoingBack sets the halt of a revision that went to all clusters at once: there is nothing left to stop, but failures must show.
func (r *rollout) findFailedGoingBack() {
	if !r.in.Status.Immediately {
		return
	}
	var failed []*member
	for _, m := range r.members {
		if m.in(fairleadv1alpha1.ClusterFailed) {
			failed = append(failed, m)
		}
	}
	if len(failed) > 0 {
		r.halt = &Reason{fairleadv1alpha1.ReasonRolloutTooManyFailed, fmt.Sprintf(
			"Revision %d, sent to all clusters at once, failed in %s: %s. The hub does not try again by itself: run hub rollout retry, or edit the template.",
			r.newest.Number, clusters(len(failed)), list(failed))}
	}
}

func (r *rollout) haltMessage(w *wave, allowed int) string {
	var failing []*member
	for _, m := range w.members {
		if m.in(fairleadv1alpha1.ClusterFailed, fairleadv1alpha1.ClusterLost) {
			failing = append(failing, m)
		}
	}
	return fmt.Sprintf("%d of %s of wave %s failed with revision %d or fell silent, but only %d may: %s.",
		len(failing), clusters(len(w.members)), w.settings.Name, r.newest.Number, allowed, list(failing))
}

// budget returns how many clusters of a wave may fail.
func (r *rollout) budget(w *wave) int {
	participants := 0
	for _, m := range w.members {
		if !m.in(fairleadv1alpha1.ClusterSetAside, fairleadv1alpha1.ClusterReturning, fairleadv1alpha1.ClusterCatchingUp, fairleadv1alpha1.ClusterSkipped) {
			participants++
		}
	}
	return plan.Scaled(w.settings.MaxFailures, participants, false)
}

// failures returns how many clusters of a wave failed or were lost.
func (r *rollout) failures(w *wave) int {
	n := 0
	for _, m := range w.members {
		if m.in(fairleadv1alpha1.ClusterFailed, fairleadv1alpha1.ClusterLost) {
			n++
		}
	}
	return n
}

// failed returns how many clusters of a wave failed.
func (r *rollout) failed(w *wave) int {
	n := 0
	for _, m := range w.members {
		if m.in(fairleadv1alpha1.ClusterFailed) {
			n++
		}
	}
	return n
}
