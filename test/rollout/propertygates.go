package rollout

import (
	"slices"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/plan"
)

// checkGates checks waves that begin and waves that pass.
func (w *world) checkGates(a *app, before, after *fairleadv1alpha1.StagedRolloutStatus, spec *fairleadv1alpha1.RolloutStrategySpec) {
	past := map[string]fairleadv1alpha1.WaveStatus{}
	if before.Revision == after.Revision {
		for _, wave := range before.Waves {
			past[wave.Name] = wave
		}
	}
	// The first revision may go to all clusters at once.
	started := before.Stable == 0 && after.Stable == after.Revision && (len(past) == 0 || past[after.Waves[0].Name].StartedAt == nil) &&
		(len(a.targets) == 0 || after.Revisions[len(after.Revisions)-1].Cause != fairleadv1alpha1.CauseAdopted || a.isWhatRan(before, after))
	for i, wave := range after.Waves {
		settings := &spec.Waves[i]
		key := after.Waves[i].Name + string(rune(after.Revision))
		if _, known := a.watch.unwell[key]; !known || wave.InFlight+wave.Held > w.lateIn(a, after, spec, i) && past[wave.Name].PassedAt == nil {
			a.watch.unwell[key] = w.now
		}
		if after.Immediately || started {
			continue
		}
		if i > 0 && wave.StartedAt != nil && after.Waves[i-1].PassedAt == nil {
			w.breaks("2. wave %s of %s begins before %s has passed", wave.Name, a.name, after.Waves[i-1].Name)
		}
		approved := slices.Contains(a.spec.Approvals, fairleadv1alpha1.WaveApproval{Revision: after.Revision, Wave: wave.Name})
		if wave.PassedAt == nil || past[wave.Name].PassedAt != nil || wave.Size == 0 {
			continue
		}
		updated := wave.Healthy - w.unchangedIn(a, before.Stable, after, spec, i)
		if settings.Approval != fairleadv1alpha1.ApprovalNone && !approved && (updated > 0 || w.leavesOut(a, after, spec, i) || a.isAnother(before.Stable, after)) {
			w.breaks("2. wave %s of %s passes without approval", wave.Name, a.name)
		}
		if wave.Held > w.lateIn(a, after, spec, i) || wave.InFlight > 0 {
			w.breaks("2. wave %s of %s passes with %d on their way and %d held", wave.Name, a.name, wave.InFlight, wave.Held)
		}
		if soak := settings.Soak.Duration; updated > 0 && w.now.Sub(a.watch.unwell[key]) < soak {
			w.breaks("2. wave %s of %s passes %s after it was unwell, and its soak is %s", wave.Name, a.name, w.now.Sub(a.watch.unwell[key]), soak)
		}
		late := wave.Held + w.missesIn(a, after, spec, i)
		if need := min(*settings.MinUpdated, wave.Size-wave.Skipped-(wave.Healthy-updated)-late); updated < need {
			w.breaks("2. wave %s of %s passes with %d updated, and needs %d", wave.Name, a.name, updated, need)
		}
		if failed := wave.Failed + wave.Lost; int(failed) > plan.Scaled(settings.MaxFailures, int(wave.Size-wave.SetAside-wave.Skipped), false) {
			w.breaks("2. wave %s of %s passes with %d failures", wave.Name, a.name, failed)
		}
	}
}

func asksApproval(spec *fairleadv1alpha1.RolloutStrategySpec) bool {
	return slices.ContainsFunc(spec.Waves, func(wave fairleadv1alpha1.Wave) bool { return wave.Approval != fairleadv1alpha1.ApprovalNone })
}

// isAnother returns whether the newest revision differs in content from the revision that new clusters get before the newest is stable.
func (a *app) isAnother(stable int64, status *fairleadv1alpha1.StagedRolloutStatus) bool {
	proven, kept := a.secrets[stable]
	if stable == 0 {
		proven, kept = a.secrets[revision.Adopted(status.Revisions).Number]
	}
	return kept && proven.hash() != a.secrets[status.Revision].hash()
}

// checkAtOnce checks a revision that goes back to all clusters at once.
func (w *world) checkAtOnce(a *app, before, after *fairleadv1alpha1.StagedRolloutStatus, spec *fairleadv1alpha1.RolloutStrategySpec) {
	asks := asksApproval(spec)
	if newest := after.Revisions[len(after.Revisions)-1]; after.Immediately && asks && after.Revision != before.Revision && !a.watch.stable[newest.ContentOf] {
		w.breaks("2. r%d of %s goes to all clusters at once, and r%d never passed every wave", after.Revision, a.name, newest.ContentOf)
	}
	a.watch.stable[after.Stable] = true
}

// leavesOut returns whether a person skips clusters of a wave that have another content.
func (w *world) leavesOut(a *app, status *fairleadv1alpha1.StagedRolloutStatus, spec *fairleadv1alpha1.RolloutStrategySpec, wave int) bool {
	for name := range a.targets {
		if stateOf(status, name) == string(fairleadv1alpha1.ClusterSkipped) && w.waveOf(a, status, spec, name) == wave &&
			a.judged(status, name).Revision.Hash != a.secrets[status.Revision].hash() {
			return true
		}
	}
	return false
}

// lateIn returns how many targets of a wave came after the wave was made and have not been sent the revision: they wait
// while it soaks.
func (w *world) lateIn(a *app, status *fairleadv1alpha1.StagedRolloutStatus, spec *fairleadv1alpha1.RolloutStrategySpec, wave int) int32 {
	return w.cameTo(a, status, spec, wave, "stable")
}

// missesIn returns how many targets that came after the wave was made catch up with the revision, which became stable without them.
func (w *world) missesIn(a *app, status *fairleadv1alpha1.StagedRolloutStatus, spec *fairleadv1alpha1.RolloutStrategySpec, wave int) int32 {
	if status.Stable != status.Revision {
		return 0
	}
	return w.cameTo(a, status, spec, wave, string(fairleadv1alpha1.ClusterReturning)+"/"+fairleadv1alpha1.ClusterReasonSlot) +
		w.cameTo(a, status, spec, wave, string(fairleadv1alpha1.ClusterCatchingUp))
}

// cameTo returns how many targets of a wave came after the wave was made and are in a state.
func (w *world) cameTo(a *app, status *fairleadv1alpha1.StagedRolloutStatus, spec *fairleadv1alpha1.RolloutStrategySpec, wave int, state string) int32 {
	var n int32
	for name := range a.targets {
		frozen := slices.ContainsFunc(a.secrets[status.Revision].frozen.Waves, func(p revision.Wave) bool { return slices.Contains(p.Clusters, name) })
		if stateOf(status, name) == state && !frozen && w.waveOf(a, status, spec, name) == wave {
			n++
		}
	}
	return n
}

// unchangedIn returns how many clusters of a wave the revision did not change: their content was stable, or is older than the strategy.
func (w *world) unchangedIn(a *app, stable int64, status *fairleadv1alpha1.StagedRolloutStatus, spec *fairleadv1alpha1.RolloutStrategySpec, wave int) int32 {
	var n int32
	newest := a.secrets[status.Revision]
	for name := range a.targets {
		have := a.judged(status, name)
		if w.waveOf(a, status, spec, name) != wave || have.Revision.Hash != newest.hash() {
			continue
		}
		proven, kept := a.secrets[stable]
		if kept && have.Unchanged && have.Revision.Number == status.Revision && proven.in(name) != newest.in(name) {
			w.breaks("2. r%d of %s changes nothing in %s, which had what never was stable", status.Revision, a.name, name)
		}
		if have.Unchanged || kept && have.Revision.Number != status.Revision && proven.hash() == newest.hash() {
			n++
		}
	}
	return n
}
