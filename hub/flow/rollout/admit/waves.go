package admit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/judge"
	"fairlead.dev/hub/flow/rollout/plan"
)

// goOn begins waves, sends the revision to the clusters whose turn it is, and lets waves pass.
func (r *rollout) goOn() {
	switch {
	case r.completed:
		return
	case r.in.Status.Immediately && r.hold == nil: // a rollback to all clusters at once ignores gates and pauses
		r.sendToAll()
	case r.allLeft(), len(r.members) == 0 && plan.AsksApproval(r.spec): // later targets would get unapproved content
		r.waiting = &Reason{fairleadv1alpha1.ReasonRolloutWave, fmt.Sprintf("The application has no cluster now in which revision %d could prove itself.", r.newest.Number)}
	case r.nothingToChange() && !r.blocked():
		r.complete()
	default:
		r.sendToFirst()
		for r.current < len(r.waves) && r.step(r.waves[r.current]) {
			r.pass(r.waves[r.current])
		}
		if r.current == len(r.waves) {
			r.complete()
		}
	}
}

// allLeft returns whether all clusters left during the rollout, as when they are lost and no others are found yet.
func (r *rollout) allLeft() bool {
	left := func(c Cluster) bool { return c.Work.Exists }
	return len(r.members) == 0 && !r.stable.Zero() && (r.waves[0].status.StartedAt != nil || slices.ContainsFunc(r.in.Clusters, left))
}

// sendToFirst sends the content that ran before the strategy was added to targets without a Work, even during a pause, as later the stable
// revision. If an edit came together with the strategy, they wait for their wave like the others.
func (r *rollout) sendToFirst() {
	if !r.stable.Zero() || !r.isWhatRan() || r.hold != nil || r.in.HubSuspect {
		return
	}
	for _, m := range r.members {
		if !m.Work.Exists && m.in(fairleadv1alpha1.ClusterHeld) && !m.unheard {
			m.is(fairleadv1alpha1.ClusterInFlight, "", r.newest.Number)
		}
	}
}

// isWhatRan returns whether the newest revision is what ran before there was a strategy, without an edit: all clusters with a Work have it,
// and no wave has started.
func (r *rollout) isWhatRan() bool {
	if r.made().Cause != fairleadv1alpha1.CauseAdopted || r.waves[0].status.StartedAt != nil {
		return false
	}
	runs := false
	for _, m := range r.members {
		if m.Work.Exists && !judge.Has(m.Work, r.newest) {
			return false
		}
		runs = runs || m.Work.Exists
	}
	return runs
}

// nothingToChange returns whether the first revision changes no existing Work, and the strategy stages only changes. If the application ran
// before and has no Work any more, it returns false, because nobody can tell whether the revision is what ran.
func (r *rollout) nothingToChange() bool {
	if !r.stable.Zero() || r.waves[0].status.StartedAt != nil || r.made().Cause == fairleadv1alpha1.CauseAdopted && !r.isWhatRan() {
		return false
	}
	for _, m := range r.members {
		if m.Work.Exists && !judge.Has(m.Work, r.newest) || !m.Work.Exists && r.spec.FirstTime == fairleadv1alpha1.FirstTimeStaged {
			return false
		}
	}
	return true
}

// sendToAll sends the newest revision to all clusters that are heard from, and to silent ones with a revision that never was stable, so
// that they do not return to that. Clusters that were set aside catch up by slots as usual.
func (r *rollout) sendToAll() {
	for _, m := range r.members {
		unproven := m.Work.Exists && m.Work.Revision.Number > r.stable.Number && !judge.Has(m.Work, r.stable)
		switch {
		case judge.Has(m.Work, r.newest), m.in(fairleadv1alpha1.ClusterSkipped), m.left, m.Suspended:
		case m.silent() && unproven:
			m.is(fairleadv1alpha1.ClusterLost, fairleadv1alpha1.ClusterReasonSilent, r.newest.Number)
		case m.silent():
			m.is(fairleadv1alpha1.ClusterSetAside, r.howLong(m), 0)
		case m.wasAside() && !unproven:
		default:
			m.is(fairleadv1alpha1.ClusterInFlight, "", r.newest.Number)
		}
	}
	for _, w := range r.waves {
		w.status.StartedAt, w.status.PassedAt = r.now(), r.now()
	}
	r.complete()
}

// complete makes the newest revision the stable one. Clusters that do not have it stay in the status, so that becoming stable does not by
// itself send it to them.
func (r *rollout) complete() {
	for i := range r.status.Revisions { // also marks the former stable one, which an older version may have recorded
		one := &r.status.Revisions[i]
		passed := one.Number == r.newest.Number && len(r.members) > 0 // without clusters, it has proven nothing
		one.Passed = one.Passed || passed || one.Number == r.status.Stable
	}
	r.status.Stable, r.stable, r.completed = r.newest.Number, r.newest, true
	for _, w := range r.waves {
		if w.status.PassedAt == nil {
			w.status.StartedAt, w.status.PassedAt = r.now(), r.now()
		}
	}
	for _, m := range r.members {
		switch {
		case m.in(fairleadv1alpha1.ClusterHeld) && !m.Work.Exists && !m.wasAside():
			m.now.revision = r.stable.Number
		case m.in(fairleadv1alpha1.ClusterHeld), m.in(fairleadv1alpha1.ClusterReturning) && m.now.reason == fairleadv1alpha1.ClusterReasonStable:
			m.is(fairleadv1alpha1.ClusterReturning, fairleadv1alpha1.ClusterReasonSlot, 0)
		}
	}
}

// step advances a wave, and returns whether it has passed. A wave without clusters or changes needs its approval like any other. Otherwise
// a user who may select the clusters of an application could bypass it, by emptying the wave, or by overriding only other clusters, and
// adding these when the revision is stable.
func (r *rollout) step(w *wave) bool {
	approved := r.approved(w)
	switch {
	case r.blocked() || r.halt != nil:
		r.wellOrNot(w)
		return false
	case w.settings.Approval == fairleadv1alpha1.ApprovalBefore && !approved && (r.wouldChange(w) || len(w.members) == 0 || r.isAnotherContent()):
		r.askApproval(w, "begins")
		return false
	}
	r.start(w)
	r.send(w)
	left, well := r.wellOrNot(w)
	switch {
	case !well:
		return false
	case left > 0:
		r.out.wake(left)
		r.waiting = &Reason{fairleadv1alpha1.ReasonRolloutSoaking, fmt.Sprintf("Wave %s is healthy, and its soak of %s is not over yet.", w.settings.Name, w.settings.Soak.Duration)}
		return false
	case w.settings.Approval == fairleadv1alpha1.ApprovalAfter && !approved && (r.somebodyWaits(w) || len(w.members) == 0 || r.isAnotherContent()):
		r.askApproval(w, "is left")
		return false
	}
	return true
}

func (r *rollout) approved(w *wave) bool {
	return slices.Contains(r.in.Spec.Approvals, fairleadv1alpha1.WaveApproval{Revision: r.newest.Number, Wave: w.settings.Name})
}

func (r *rollout) askApproval(w *wave, what string) {
	message := fmt.Sprintf("Somebody must approve that wave %s %s: run hub rollout approve.", w.settings.Name, what)
	if len(w.members) > 0 && !r.wouldChange(w) && !r.sentAny(w) {
		message += fmt.Sprintf(" Revision %d changes nothing in the clusters that are in this wave now, but may in clusters that join it.", r.newest.Number)
	}
	if why := r.made().Message; why != "" {
		message += " " + why
	}
	r.waiting = &Reason{fairleadv1alpha1.ReasonRolloutNeedsApproval, message}
}

// somebodyWaits returns whether clusters in a wave or a later one are affected by its approval.
func (r *rollout) somebodyWaits(w *wave) bool {
	return r.sentAny(w) || slices.ContainsFunc(r.waves[w.index:], r.wouldChange)
}

// wouldChange returns whether the revision changes anything in a wave, including clusters that are skipped. Skipping is no approval: when
// the revision is stable, clusters that are not skipped any more catch up to it.
func (r *rollout) wouldChange(w *wave) bool {
	return r.concerned(w) > 0 || slices.ContainsFunc(w.members, func(m *member) bool {
		return m.in(fairleadv1alpha1.ClusterSkipped) && !judge.Unchanged(m.Work, r.newest, r.stable)
	})
}

// isAnotherContent returns whether the newest revision's content differs from the one that new targets get now. Even if it changes nothing
// in the current clusters, as with an override for another cluster, it may in targets that are added when it is stable.
func (r *rollout) isAnotherContent() bool {
	proven := r.stable
	if proven.Zero() {
		proven = revision.Adopted(r.in.Status.Revisions)
	}
	return r.newest.Hash != proven.Hash
}

// start begins a wave.
func (r *rollout) start(w *wave) {
	if w.status.StartedAt != nil {
		return
	}
	w.status.StartedAt = r.now()
	for _, m := range w.members {
		if m.in(fairleadv1alpha1.ClusterReturning) { // its wave accepts it now
			r.judgeUnsent(m)
		}
	}
	var aside []*member
	for _, m := range w.members {
		if m.in(fairleadv1alpha1.ClusterSetAside) {
			aside = append(aside, m)
		}
	}
	if len(w.members) > 0 {
		r.say(false, EventWaveStarted, fmt.Sprintf("Wave %s of revision %d begins with %s.", w.settings.Name, r.newest.Number, clusters(len(w.members))))
	}
	if len(aside) > 0 {
		r.say(false, EventSetAside, fmt.Sprintf("Wave %s of revision %d goes on without %s: %s.", w.settings.Name, r.newest.Number, clusters(len(aside)), list(aside)))
	}
}

// send sends the newest revision to as many clusters as may be in flight at a time: first those with a revision that was replaced before it
// became stable, then in the order of the wave.
func (r *rollout) send(w *wave) {
	free := max(plan.Scaled(w.settings.MaxConcurrent, len(w.members), false), 1)
	var turn []*member
	for _, m := range w.members {
		if m.in(fairleadv1alpha1.ClusterInFlight) {
			free--
		}
		if m.in(fairleadv1alpha1.ClusterHeld) && !m.unheard && m.Work.Revision.Number <= r.newest.Number && !r.waits(m) {
			turn = append(turn, m)
		}
	}
	superseded := func(m *member) int {
		if m.Work.Exists && m.Work.Revision.Number > r.stable.Number && !judge.Has(m.Work, r.stable) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(turn, func(a, b *member) int {
		late := func(m *member) int {
			if m.late {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(superseded(a), superseded(b)), cmp.Compare(late(a), late(b)), cmp.Compare(a.position, b.position), byMemberName(a, b))
	})
	for _, m := range turn[:min(max(free, 0), len(turn))] {
		m.is(fairleadv1alpha1.ClusterInFlight, "", r.newest.Number)
		r.out.Memory.Progress[m.name] = judge.Progress{Revision: r.newest.Number, At: r.in.Now}
		r.out.wake(r.spec.ProgressDeadline.Duration)
	}
}

// waits returns whether a held member was added too late for its wave, which already soaks.
func (r *rollout) waits(m *member) bool { return m.late && m.wave.soaking }

// pass ends a wave, and makes the next one current.
func (r *rollout) pass(w *wave) {
	w.status.PassedAt = r.now()
	r.current++
	r.waiting = nil
	if len(w.members) > 0 {
		r.say(false, EventWavePassed, fmt.Sprintf("Wave %s of revision %d has passed: %d healthy of %s.", w.settings.Name, r.newest.Number, w.healthy(), clusters(len(w.members))))
	}
}

// now returns the time for a status, which has whole seconds. It rounds up, so that nothing measured from it ends too early.
func (r *rollout) now() *metav1.Time {
	at := r.in.Now.Truncate(time.Second)
	if at.Before(r.in.Now) {
		at = at.Add(time.Second)
	}
	return &metav1.Time{Time: at}
}
