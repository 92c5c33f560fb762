package admit

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/judge"
)

// wave is one wave of the newest revision, with its current members.
type wave struct {
	index    int
	settings *fairleadv1alpha1.Wave
	status   fairleadv1alpha1.WaveStatus
	members  []*member
	// soaking says that the wave was healthy when the status was written.
	soaking bool
}

// position is the state of a cluster in the status.
type position struct {
	state    fairleadv1alpha1.ClusterState
	reason   string
	revision int64
}

// member is a cluster in its wave.
type member struct {
	Cluster
	name     string
	wave     *wave
	position int
	// late says that it became a target after the waves were made; left says that it is not a target any more.
	late, left bool
	// skipped says that a person excluded it.
	skipped bool
	before  position
	now     position
	// unheard says that it is held because it is silent, although its silence is not believed yet.
	unheard bool
}

func byMemberName(a, b *member) int { return cmp.Compare(a.name, b.name) }

func (m *member) is(state fairleadv1alpha1.ClusterState, reason string, number int64) {
	m.now = position{state, reason, number}
}

func (m *member) in(states ...fairleadv1alpha1.ClusterState) bool {
	return slices.Contains(states, m.now.state)
}

func (m *member) was(states ...fairleadv1alpha1.ClusterState) bool {
	return slices.Contains(states, m.before.state)
}

// wasAside returns whether it was set aside, and has not caught up.
func (m *member) wasAside() bool {
	return m.was(fairleadv1alpha1.ClusterSetAside, fairleadv1alpha1.ClusterReturning, fairleadv1alpha1.ClusterCatchingUp)
}

// wasSent returns whether the status assigned it the newest revision.
func (r *rollout) wasSent(m *member) bool {
	return m.before.revision == r.newest.Number &&
		m.was(fairleadv1alpha1.ClusterInFlight, fairleadv1alpha1.ClusterHealthy, fairleadv1alpha1.ClusterFailed, fairleadv1alpha1.ClusterLost)
}

// cutOff returns whether a member that is not a target any more may be silent because of the revision that it was sent. A healthy one whose
// wave has passed is not suspected.
func (r *rollout) cutOff(m *member) bool {
	switch {
	case !m.silent() || !r.wasSent(m):
		return false
	case m.was(fairleadv1alpha1.ClusterHealthy):
		return m.before.reason != fairleadv1alpha1.ClusterReasonUnchanged && !r.passed(m)
	default:
		return m.was(fairleadv1alpha1.ClusterInFlight) && (!m.Work.Exists || judge.Has(m.Work, r.newest))
	}
}

// passed returns whether the wave of a member has passed.
func (r *rollout) passed(m *member) bool { return r.completed || m.wave.status.PassedAt != nil }

// silent returns whether the cluster is silent.
func (m *member) silent() bool { return !m.SilentSince.IsZero() }

// unconfirmed returns whether the silence of a member is not believed now.
func (r *rollout) unconfirmed(m *member) bool { return m.Unconfirmed || r.in.HubSuspect }

// behind returns whether a member has an older revision than the stable one, or was set aside before it was sent any.
func (r *rollout) behind(m *member) bool {
	if r.stable.Zero() || !m.Work.Exists {
		return !r.stable.Zero() && m.wasAside()
	}
	return !judge.Has(m.Work, r.stable) && m.Work.Revision.Number < r.stable.Number
}

// missed returns the revision that a member catches up to.
func (r *rollout) missed(m *member) revision.ID {
	if r.stable.Zero() || r.spec.CatchUp.To == fairleadv1alpha1.CatchUpToNewest && r.passed(m) {
		return r.newest
	}
	return r.stable
}

// expected returns the revision with which a member must become healthy.
func (r *rollout) expected(m *member) revision.ID {
	if m.was(fairleadv1alpha1.ClusterCatchingUp) {
		return r.missed(m)
	}
	return r.newest
}

// judgeAll sets the state of every member, before anything more is sent.
func (r *rollout) judgeAll() {
	for _, m := range r.members {
		r.judge(m)
	}
	onTheirWay := sets.Set[string]{}
	for _, m := range r.members {
		if m.in(fairleadv1alpha1.ClusterInFlight, fairleadv1alpha1.ClusterHealthy, fairleadv1alpha1.ClusterLost, fairleadv1alpha1.ClusterCatchingUp) {
			onTheirWay.Insert(m.name)
		}
	}
	maps.DeleteFunc(r.out.Memory.Progress, func(name string, p judge.Progress) bool {
		return !onTheirWay.Has(name) || p == judge.Progress{Revision: p.Revision}
	})
}

func (r *rollout) judge(m *member) {
	switch {
	case m.left && !m.was(fairleadv1alpha1.ClusterLost) && r.unconfirmed(m): // lost once its silence is believed
		m.is(fairleadv1alpha1.ClusterInFlight, fairleadv1alpha1.ClusterReasonLeft, r.newest.Number)
	case m.left:
		m.is(fairleadv1alpha1.ClusterLost, fairleadv1alpha1.ClusterReasonLeft, 0)
	case m.skipped && (!r.completed || !judge.Has(m.Work, r.newest) || !m.Work.Report.Well()):
		m.is(fairleadv1alpha1.ClusterSkipped, "", 0)
		r.lifted = r.lifted || !m.was(fairleadv1alpha1.ClusterSkipped)
	case m.was(fairleadv1alpha1.ClusterCatchingUp) && r.judgeCatchingUp(m):
	case r.concerns(m):
		r.judgeSent(m)
	case r.completed && judge.Has(m.Work, r.newest):
		m.is(fairleadv1alpha1.ClusterHealthy, "", r.newest.Number)
	default:
		r.judgeUnsent(m)
	}
}

// concerns returns whether a member is judged by the newest revision. Once that is stable, only members that were not healthy with it are.
func (r *rollout) concerns(m *member) bool {
	if r.completed {
		return m.before.revision == r.newest.Number && !m.was(fairleadv1alpha1.ClusterHealthy, fairleadv1alpha1.ClusterCatchingUp, "")
	}
	return r.wasSent(m) || judge.Has(m.Work, r.newest)
}

// judgeSent sets the state of a cluster that was sent the newest revision.
func (r *rollout) judgeSent(m *member) {
	before := position{}
	if r.wasSent(m) {
		before = m.before
	}
	v := r.ask(m, r.newest, before)
	number := r.newest.Number
	if v.State == fairleadv1alpha1.ClusterSetAside && !judge.Has(m.Work, r.newest) {
		number = 0 // it was not sent the revision, and will not be
	}
	m.is(v.State, v.Reason, number)
}

func (r *rollout) ask(m *member, wanted revision.ID, before position) judge.Verdict {
	v := judge.Decide(judge.Input{
		Now: r.in.Now, Wanted: wanted, Stable: r.stable, Work: m.Work, Before: before.state, Reason: before.reason,
		Silent: m.silent(), Unconfirmed: r.unconfirmed(m), Suspended: m.Suspended, Proven: r.passed(m),
		Deadline: r.spec.ProgressDeadline.Duration, Progress: r.out.Memory.Progress[m.name],
	})
	r.out.Memory.Progress[m.name] = v.Progress
	r.out.wake(v.Again)
	return v
}

// judgeCatchingUp sets the state of a cluster that is catching up, and returns whether it did; false means that the cluster has caught up,
// was sent a newer revision since, or was not sent anything yet. Failures here stop only catching up.
func (r *rollout) judgeCatchingUp(m *member) bool {
	missed := r.missed(m)
	if missed != r.newest && judge.Has(m.Work, r.newest) {
		return false
	}
	replaced := m.Work.Revision.Number > missed.Number && !judge.Has(m.Work, missed)
	if replaced || r.stable.Zero() && !r.passed(m) { // its revision was replaced before it became stable, so it waits for its wave
		m.before = position{state: fairleadv1alpha1.ClusterHeld}
		return false
	}
	if m.before.reason == fairleadv1alpha1.ClusterReasonNobodyLetIn && !judge.Has(m.Work, missed) {
		return false // it gave its slot back before it was sent anything, and needs one again
	}
	before := position{state: fairleadv1alpha1.ClusterInFlight, revision: missed.Number}
	if m.before.revision == missed.Number {
		switch m.before.reason {
		case fairleadv1alpha1.ClusterReasonSilent:
			before.state = fairleadv1alpha1.ClusterLost
		case fairleadv1alpha1.ClusterReasonDeadline, fairleadv1alpha1.ClusterReasonRefused:
			before.state, before.reason = fairleadv1alpha1.ClusterFailed, m.before.reason
		}
	}
	if m.silent() && !judge.Has(m.Work, missed) && !r.unconfirmed(m) {
		return false // it was not sent anything yet
	}
	v := r.ask(m, missed, before)
	switch v.State {
	case fairleadv1alpha1.ClusterHealthy:
		if missed == r.newest {
			m.is(v.State, v.Reason, missed.Number)
			return true
		}
		m.before = position{state: fairleadv1alpha1.ClusterHeld, revision: missed.Number}
		return false
	case fairleadv1alpha1.ClusterSetAside:
		m.is(v.State, v.Reason, missed.Number)
	case fairleadv1alpha1.ClusterLost:
		m.is(fairleadv1alpha1.ClusterCatchingUp, v.Reason, missed.Number) // continues when it is heard from again
	default:
		m.is(fairleadv1alpha1.ClusterCatchingUp, v.Reason, missed.Number)
	}
	return true
}

// judgeUnsent sets the state of a cluster that has not been sent the newest revision.
func (r *rollout) judgeUnsent(m *member) {
	heldAt := int64(0)
	if !m.Work.Exists && !m.wasAside() || judge.Has(m.Work, r.stable) || r.behind(m) && (m.before.state == "" || m.before.revision == r.stable.Number) {
		heldAt = r.stable.Number // a new target, or one that the status assigned the stable revision, gets that
	}
	returning := func(reason string) { m.is(fairleadv1alpha1.ClusterReturning, reason, 0) }
	switch {
	case m.Suspended:
		m.is(fairleadv1alpha1.ClusterSetAside, fairleadv1alpha1.ClusterReasonSuspended, 0)
	case m.silent() && !r.unconfirmed(m):
		m.is(fairleadv1alpha1.ClusterSetAside, r.howLong(m), 0)
	case m.silent() && m.wasAside():
		m.is(fairleadv1alpha1.ClusterSetAside, r.howLong(m), 0)
	case m.silent():
		m.unheard = true
		m.is(fairleadv1alpha1.ClusterHeld, "", heldAt)
	case m.wasAside() && !r.settled(m):
		returning(fairleadv1alpha1.ClusterReasonSettling)
	case r.completed:
		if (m.Work.Exists || m.wasAside()) && m.before.state != "" {
			returning(fairleadv1alpha1.ClusterReasonSlot)
		} else {
			m.is(fairleadv1alpha1.ClusterHeld, "", heldAt)
		}
	case m.wasAside() && r.behind(m) && (!m.Work.Exists || !r.opens(m) && r.spec.CatchUp.To == fairleadv1alpha1.CatchUpToStable):
		returning(fairleadv1alpha1.ClusterReasonSlot)
	case m.wave.status.PassedAt != nil && m.Work.Exists && heldAt == r.stable.Number && r.behind(m):
		m.is(fairleadv1alpha1.ClusterHeld, "", heldAt)
	case m.wave.status.PassedAt != nil && (m.Work.Exists || r.stable.Zero()):
		if r.spec.CatchUp.To == fairleadv1alpha1.CatchUpToNewest {
			returning(fairleadv1alpha1.ClusterReasonSlot)
		} else {
			returning(fairleadv1alpha1.ClusterReasonStable)
		}
	case m.wave.soaking && !r.opens(m) && m.wasAside():
		returning(fairleadv1alpha1.ClusterReasonStable)
	default:
		m.is(fairleadv1alpha1.ClusterHeld, "", heldAt)
	}
}

// opens returns whether the wave of a member accepts clusters that are heard from again. It does not while it soaks, or unstable clusters
// would keep it from ever passing.
func (r *rollout) opens(m *member) bool { return m.wave.index == r.current && !m.wave.soaking }

// settled returns whether a member has been heard from for long enough.
func (r *rollout) settled(m *member) bool {
	if m.HeardSince.IsZero() {
		return true
	}
	left := r.spec.CatchUp.Settle.Duration - r.in.Now.Sub(m.HeardSince)
	r.out.wake(left)
	return left <= 0
}

// howLong returns the reason of a silent member, by how long it is silent.
func (r *rollout) howLong(m *member) string {
	left := r.spec.CatchUp.WarnAfter.Duration - r.in.Now.Sub(m.SilentSince)
	r.out.wake(left)
	if left <= 0 {
		return fairleadv1alpha1.ClusterReasonSilentForLong
	}
	return fairleadv1alpha1.ClusterReasonSilent
}
