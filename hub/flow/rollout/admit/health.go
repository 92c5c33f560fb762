package admit

import (
	"fmt"
	"time"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/flow/rollout/judge"
)

// wellOrNot returns whether a wave is healthy, and if so, what is left of its soak.
func (r *rollout) wellOrNot(w *wave) (time.Duration, bool) {
	if w.status.StartedAt == nil {
		return 0, false
	}
	missing := r.lacking(w)
	if missing != "" {
		w.status.WellSince, r.out.Memory.Soak = nil, Soak{}
		r.waiting = &Reason{fairleadv1alpha1.ReasonRolloutWave, missing}
		if r.tooFew(w) {
			r.waiting.Reason = fairleadv1alpha1.ReasonRolloutTooFewHeard
		}
		return 0, false
	}
	if unheard := r.unheard(w); len(unheard) > 0 {
		r.standStill(w, unheard)
		return 0, false
	}
	r.soakOn(w)
	if w.status.WellSince == nil {
		w.status.WellSince = r.now()
	}
	if !r.sentAny(w) {
		return 0, true // nothing changed in this wave, so there is nothing to soak
	}
	return max(w.settings.Soak.Duration-r.in.Now.Sub(w.status.WellSince.Time), r.unwatched(w)), true
}

// lacking returns what a wave lacks to be healthy; empty if it is.
func (r *rollout) lacking(w *wave) string {
	held, flying := 0, 0
	for _, m := range w.members {
		switch {
		case m.in(fairleadv1alpha1.ClusterHeld) && !r.waits(m):
			held++
		case m.in(fairleadv1alpha1.ClusterInFlight):
			flying++
		case m.in(fairleadv1alpha1.ClusterHealthy) && m.silent() && m.now.reason == "" && !m.Early:
			flying++ // its health is unknown while the hub suspects its own network
		}
	}
	switch need := r.needed(w); {
	case held+flying > 0:
		return fmt.Sprintf("Wave %s waits for %s to be healthy with revision %d.", w.settings.Name, clusters(held+flying), r.newest.Number)
	case r.updated(w) < need:
		return fmt.Sprintf("Wave %s needs %s that %s healthy with revision %d, but has %d; the others are silent, suspended or have failed.",
			w.settings.Name, clusters(need), isAre(need), r.newest.Number, r.updated(w))
	case r.failures(w) > r.budget(w):
		return fmt.Sprintf("Wave %s has too many failures.", w.settings.Name)
	}
	return ""
}

// tooFew returns whether a wave waits only because too few clusters are available.
func (r *rollout) tooFew(w *wave) bool {
	for _, m := range w.members {
		if m.in(fairleadv1alpha1.ClusterInFlight) || m.in(fairleadv1alpha1.ClusterHeld) && !r.waits(m) {
			return false
		}
	}
	return r.updated(w) < r.needed(w)
}

// needed returns how many clusters must be healthy with changed content.
func (r *rollout) needed(w *wave) int { return min(int(*w.settings.MinUpdated), r.concerned(w)) }

// concerned returns how many clusters of a wave the revision changes, as far as is known. It includes lost ones that are not targets any
// more, since their leaving proves nothing.
func (r *rollout) concerned(w *wave) int {
	n := 0
	for _, m := range w.members {
		if !m.in(fairleadv1alpha1.ClusterSkipped) && (!m.in(fairleadv1alpha1.ClusterHealthy) || m.now.reason != fairleadv1alpha1.ClusterReasonUnchanged) && !r.waits(m) {
			n++
		}
	}
	return n
}

// updated returns how many clusters are healthy with changed content.
func (r *rollout) updated(w *wave) int {
	n := 0
	for _, m := range w.members {
		if m.in(fairleadv1alpha1.ClusterHealthy) && m.now.reason != fairleadv1alpha1.ClusterReasonUnchanged {
			n++
		}
	}
	return n
}

// sentAny returns whether the revision changed anything in a wave, including clusters that were skipped afterwards.
func (r *rollout) sentAny(w *wave) bool {
	for _, m := range w.members {
		if m.in(fairleadv1alpha1.ClusterHealthy) && m.now.reason == "" ||
			m.in(fairleadv1alpha1.ClusterSkipped) && judge.Has(m.Work, r.newest) && !judge.Unchanged(m.Work, r.newest, r.stable) || m.in(fairleadv1alpha1.ClusterFailed, fairleadv1alpha1.ClusterLost) {
			return true
		}
	}
	return false
}

func (w *wave) healthy() int {
	n := 0
	for _, m := range w.members {
		if m.in(fairleadv1alpha1.ClusterHealthy) {
			n++
		}
	}
	return n
}
