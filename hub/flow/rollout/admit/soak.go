package admit

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// unheard returns the members of a wave that were last healthy, and whose silence is too short to be believed.
func (r *rollout) unheard(w *wave) []*member {
	var out []*member
	for _, m := range w.members {
		if m.in(fairleadv1alpha1.ClusterHealthy) && m.now.reason == "" && m.silent() && m.Early {
			out = append(out, m)
		}
	}
	return out
}

// unwatched returns how long a soaking wave that started before this process began to watch the clusters waits to hear from them: their
// last reports may be from before the time without a hub.
func (r *rollout) unwatched(w *wave) time.Duration {
	if w.settings.Soak.Duration == 0 || !w.status.StartedAt.Time.Before(r.in.Began) {
		return 0
	}
	return r.in.Heard.Sub(r.in.Now)
}

// standStill pauses the soak of a wave until the unheard clusters are heard from. The elapsed part is kept: lines are lost for a moment all
// the time, and a soak that restarted each time would never end.
func (r *rollout) standStill(w *wave, unheard []*member) {
	soak := r.soak(w)
	names := make([]string, len(unheard))
	for i, m := range unheard {
		names[i] = m.name
		if soak.Still.IsZero() || m.SilentSince.Before(soak.Still) {
			soak.Still = m.SilentSince
		}
	}
	reason := fairleadv1alpha1.ReasonRolloutWave
	if w.status.WellSince != nil {
		reason = fairleadv1alpha1.ReasonRolloutSoaking
	}
	r.waiting = &Reason{reason, fmt.Sprintf("Wave %s waits for %s to be heard from again: %s. Its soak is paused until then, and goes on if that is soon.",
		w.settings.Name, clusters(len(unheard)), shortened(names))}
}

// soakOn resumes the soak of a wave whose members are all heard from again. The pause does not count.
func (r *rollout) soakOn(w *wave) {
	soak := r.soak(w)
	if w.status.WellSince == nil {
		soak.Still = time.Time{}
		return
	}
	since := w.status.WellSince.Time
	if since.Before(soak.WellSince) {
		since = soak.WellSince // the last status was not written
	}
	if still := soak.Still; !still.IsZero() {
		if still.Before(since) {
			still = since
		}
		since = since.Add((max(r.in.Now.Sub(still), 0) + time.Second - 1).Truncate(time.Second))
		soak.Still, soak.WellSince = time.Time{}, since
	}
	w.status.WellSince = &metav1.Time{Time: since}
}

// soak returns the memory of the soak of a wave.
func (r *rollout) soak(w *wave) *Soak {
	if r.out.Memory.Soak.Wave != w.settings.Name {
		r.out.Memory.Soak = Soak{Wave: w.settings.Name}
	}
	return &r.out.Memory.Soak
}
