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

// goOn begins waves, sends to those whose turn it is, and lets waves pass.
func (r *rollout) goOn() {
	switch {
	case r.completed:
		return
	case r.in.Status.Immediately && r.hold == nil: // A person wants it, or a failure: no gate, not even a pause.
		r.sendToAll()
	case r.allLeft(), len(r.members) == 0 && plan.AsksApproval(r.spec): // Nobody has approved of what clusters that come later would be given.
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

// allLeft says that all have left in the middle of the rollout, as when they are lost and others are not found yet.
func (r *rollout) allLeft() bool {
	left := func(c Cluster) bool { return c.Work.Exists }
	return len(r.members) == 0 && !r.stable.Zero() && (r.waves[0].status.StartedAt != nil || slices.ContainsFunc(r.in.Clusters, left))
}

// sendToFirst gives what runs since before the strategy was added to targets that have nothing: to them it is what the stable revision
// is later, which a pause does not keep from anybody either. If an edit came with the strategy, they wait for their wave like the others.
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

// isWhatRan says that the newest revision is what ran before there was a strategy, and no edit of that: all who have something have it, and
// no wave gave it to them.
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

// nothingToChange says that the first revision only makes what is not there, and the strategy
// stages only what changes something. If something ran before and is nowhere by now, nobody can say whether the revision is that.
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

// sendToAll sends the newest revision to everybody who is heard from, and to those who have one
// that never was stable even if they are not: they must not find that when they return. Those who
// were set aside return one after the other as ever.
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

// complete makes the newest revision the stable one. Whoever has not got it is named, so that
// nobody is sent it by that alone.
func (r *rollout) complete() {
	for i := range r.status.Revisions { // The one before, too: an older hub may have recorded it.
		one := &r.status.Revisions[i]
		passed := one.Number == r.newest.Number && len(r.members) > 0 // of no cluster it has passed nothing
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

// step does for a wave what may be done now, and says whether it has passed. A wave in which nobody is, or nothing changes, needs its approval
// like any other: whoever picks the clusters of an application could empty it, or write overrides for others, and fill it with these when the
// revision is stable.
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
		r.waiting = &Reason{fairleadv1alpha1.ReasonRolloutSoaking, fmt.Sprintf("Wave %s is well, and has been for a part of its soak of %s.", w.settings.Name, w.settings.Soak.Duration)}
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
	message := fmt.Sprintf("A person is to approve that wave %s %s: hub rollout approve.", w.settings.Name, what)
	if len(w.members) > 0 && !r.wouldChange(w) && !r.sentAny(w) {
		message += fmt.Sprintf(" Revision %d changes nothing in the clusters that are in it now, and may in others that come.", r.newest.Number)
	}
	if why := r.made().Message; why != "" {
		message += " " + why
	}
	r.waiting = &Reason{fairleadv1alpha1.ReasonRolloutNeedsApproval, message}
}

// somebodyWaits says whether an approval of one wave keeps anybody of it or a later one waiting.
func (r *rollout) somebodyWaits(w *wave) bool {
	return r.sentAny(w) || slices.ContainsFunc(r.waves[w.index:], r.wouldChange)
}

// wouldChange says whether the revision changes anything in a wave, now or once a person leaves a cluster out no more. To leave out is
// no approval: when the revision is stable, whoever is left out no more catches up with it.
func (r *rollout) wouldChange(w *wave) bool {
	return r.concerned(w) > 0 || slices.ContainsFunc(w.members, func(m *member) bool {
		return m.in(fairleadv1alpha1.ClusterSkipped) && !judge.Unchanged(m.Work, r.newest, r.stable)
	})
}

// isAnotherContent says whether the newest revision has another content than the one that clusters are given that come now. That it changes
// nothing where the application is, as an override for a cluster where it is not, tells nothing of clusters that come when it is stable.
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
		if m.in(fairleadv1alpha1.ClusterReturning) { // Its wave takes it now.
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

// send sends the newest revision to as many as may be on their way at a time: those first that
// have one that was replaced before it was stable, then in the order of the wave.
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

// waits says of one that is held whether it has come too late for a wave that soaks.
func (r *rollout) waits(m *member) bool { return m.late && m.wave.soaking }

// pass ends a wave, and goes to the next.
func (r *rollout) pass(w *wave) {
	w.status.PassedAt = r.now()
	r.current++
	r.waiting = nil
	if len(w.members) > 0 {
		r.say(false, EventWavePassed, fmt.Sprintf("Wave %s of revision %d has passed: %d healthy of %s.", w.settings.Name, r.newest.Number, w.healthy(), clusters(len(w.members))))
	}
}

// now is the time for a status, which knows whole seconds: the next one, so that nothing that is
// measured from it is over too early.
func (r *rollout) now() *metav1.Time {
	at := r.in.Now.Truncate(time.Second)
	if at.Before(r.in.Now) {
		at = at.Add(time.Second)
	}
	return &metav1.Time{Time: at}
}
