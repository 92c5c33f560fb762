package admit

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/plan"
)

// rollout is one decision in the making.
type rollout struct {
	in     Input
	spec   fairleadv1alpha1.RolloutStrategySpec
	status fairleadv1alpha1.StagedRolloutStatus
	// newest and stable are the newest and the stable revision; stable changes when the last wave passes.
	newest, stable revision.ID
	// completed says that newest is stable.
	completed bool
	waves     []*wave
	members   []*member // sorted by name
	// current is the index of the current wave.
	current int
	// lifted says that a person acted on failures, which ends a halt.
	lifted bool
	// hold is why no cluster is sent the newest revision, regardless of the strategy.
	hold *Reason
	halt *Reason
	// waiting is why the current wave does not proceed.
	waiting *Reason
	out     Decision
}

// steps bounds the consecutive steps in one decision. Further steps are left to the next one.
const steps = 8

// Decide decides what a rollout does next. It is total: whatever the input, it sends nothing to a cluster out of turn. Its result is a
// fixed point, within steps: deciding again at the same time with the returned status changes nothing.
func Decide(in Input) Decision {
	out := decide(in)
	for range steps {
		if out.Cut != nil || equality.Semantic.DeepEqual(out.Status, in.Status) {
			break
		}
		in.Status, in.Memory = out.Status, out.Memory
		next := decide(in)
		if next.Cut != nil { // write what led to the revision first
			out.wake(time.Millisecond)
			break
		}
		next.Events = append(out.Events, next.Events...)
		next.Forget = append(out.Forget, next.Forget...)
		next.Urgent = next.Urgent || out.Urgent
		out = next
	}
	return out
}

func decide(in Input) Decision {
	out := Decision{Status: *in.Status.DeepCopy(), Memory: remember(in)}
	begun := in.Status.Revision > 0 && in.Status.Phase == ""
	if cut := cut(in, out.Memory); cut != nil && !begun {
		out.Cut = cut
		return out
	}
	out.wakeForEdit(in)
	out.Status.ObservedGeneration = in.Generation
	if in.Status.Revision == 0 && in.Hold == nil && in.Unseen == "" {
		return out // the content is not known yet
	}
	if in.Frozen == nil {
		return unreadable(in, out)
	}
	r := newRollout(in, out)
	if begun {
		r.sayBegun()
	}
	r.grantRetries()
	r.judgeAll()
	r.findHalt()
	if cut := r.rollBack(); cut != nil {
		return Decision{Cut: cut, Status: *in.Status.DeepCopy(), Memory: r.out.Memory}
	}
	r.adviseHalt()
	r.goOn()
	r.catchUp()
	r.count()
	r.write()
	return r.out
}

func newRollout(in Input, out Decision) *rollout {
	r := &rollout{in: in, spec: plan.Defaulted(in.Frozen.Strategy), status: out.Status, out: out}
	r.newest, r.stable = r.id(in.Status.Revision), r.id(in.Status.Stable)
	r.completed = in.Status.Stable == in.Status.Revision
	if !r.wentBack() {
		r.hold = in.Hold
	}
	r.gather()
	r.current = len(r.waves)
	for i, w := range r.waves {
		if w.status.PassedAt == nil {
			r.current = i
			break
		}
	}
	return r
}

// id returns the ID of a revision in the status; zero if it is not there.
func (r *rollout) id(number int64) revision.ID { return revision.Of(r.in.Status.Revisions, number) }

// blocked returns whether nothing may be sent to any cluster now.
func (r *rollout) blocked() bool { return r.in.Spec.Paused || r.in.HubSuspect || r.hold != nil }

// wentBack returns whether the newest revision is a rollback by a person, which needs only the strategy that was frozen with it.
func (r *rollout) wentBack() bool {
	cause := r.made().Cause
	return cause == fairleadv1alpha1.CauseUndone || cause == fairleadv1alpha1.CauseAborted
}

// wake requests another decision after some time.
func (d *Decision) wake(after time.Duration) {
	if after > 0 && (d.RetryAfter == 0 || after < d.RetryAfter) {
		d.RetryAfter = after
	}
}

func (r *rollout) say(warning bool, reason, message string) {
	r.out.Events = append(r.out.Events, Event{Warning: warning, Reason: reason, Message: message})
}

// slot is the place of a cluster in the frozen waves.
type slot struct {
	wave     *wave
	position int
}

// gather assembles the waves and their members.
func (r *rollout) gather() {
	slots := r.gatherWaves()
	before, skipped := positions(&r.in.Status), r.skipped()
	targets := r.gatherTargets(slots, before, skipped)
	r.gatherDeparted(targets, slots, before, skipped)
	slices.SortFunc(r.members, byMemberName)
	for _, w := range r.waves {
		slices.SortFunc(w.members, byMemberName)
		r.soakAnew(w)
	}
}

// gatherWaves assembles the waves from the status, and returns the slot of each cluster in the frozen waves, by name.
func (r *rollout) gatherWaves() map[string]slot {
	byName := map[string]fairleadv1alpha1.WaveStatus{}
	for _, w := range r.in.Status.Waves {
		byName[w.Name] = w
	}
	for i := range r.spec.Waves {
		settings := &r.spec.Waves[i]
		w := &wave{index: i, settings: settings, status: fairleadv1alpha1.WaveStatus{Name: settings.Name}}
		if settings.Soak != nil && settings.Soak.Duration > 0 {
			w.status.Soak = settings.Soak
		}
		before := byName[settings.Name]
		w.status.StartedAt, w.status.WellSince, w.status.PassedAt = before.StartedAt, before.WellSince, before.PassedAt
		w.soaking = before.WellSince != nil
		r.waves = append(r.waves, w)
	}
	slots := map[string]slot{}
	for _, frozen := range r.in.Frozen.Waves {
		i := slices.IndexFunc(r.waves, func(w *wave) bool { return w.settings.Name == frozen.Name })
		for position, name := range frozen.Clusters {
			if i >= 0 {
				slots[name] = slot{wave: r.waves[i], position: position}
			}
		}
	}
	return slots
}

// skipped returns the clusters that a person excluded from the newest revision.
func (r *rollout) skipped() sets.Set[string] {
	out := sets.Set[string]{}
	for _, s := range r.in.Spec.Skip {
		if s.Revision == r.newest.Number {
			out.Insert(s.Cluster)
		}
	}
	return out
}

// gatherTargets adds the targets of the application to their waves, and returns their names.
func (r *rollout) gatherTargets(slots map[string]slot, before map[string]position, skipped sets.Set[string]) sets.Set[string] {
	targets := sets.Set[string]{}
	for _, c := range r.in.Clusters {
		if !c.Target || targets.Has(c.Cluster.Name) {
			continue
		}
		name := c.Cluster.Name
		targets.Insert(name)
		m := &member{Cluster: c, name: name, before: before[name], skipped: skipped.Has(name)}
		if at, frozen := slots[name]; frozen {
			m.wave, m.position = at.wave, at.position
		} else {
			m.wave, m.late = r.waves[plan.Place(&r.spec, c.Cluster)], true
		}
		r.join(m)
	}
	return targets
}

// gatherDeparted handles clusters in the status that are not targets any more. Some still count as members.
func (r *rollout) gatherDeparted(targets sets.Set[string], slots map[string]slot, before map[string]position, skipped sets.Set[string]) {
	others := map[string]Cluster{}
	for _, c := range r.in.Clusters {
		if !c.Target {
			others[c.Cluster.Name] = c
		}
	}
	for name, at := range before {
		if targets.Has(name) {
			continue
		}
		m := &member{Cluster: others[name], name: name, before: at, left: true, wave: r.waves[len(r.waves)-1]}
		if s, frozen := slots[name]; frozen {
			m.wave = s.wave
		} else if m.Cluster.Cluster != nil {
			m.wave = r.waves[plan.Place(&r.spec, m.Cluster.Cluster)]
		}
		switch {
		case at.state == fairleadv1alpha1.ClusterFailed:
			r.lifted = true // removing a failed cluster from the targets is one way to act on the failure
		case at.state == fairleadv1alpha1.ClusterLost && skipped.Has(name):
			r.lifted = true
		case !r.completed && !skipped.Has(name) && (at.state == fairleadv1alpha1.ClusterLost || r.cutOff(m)):
			// The revision may have cut it off, and failover then moved the application away: it still counts.
			r.join(m)
		}
	}
}

// soakAnew restarts the soak of a wave all of whose members were added during it: the clusters that were to prove the revision have left.
func (r *rollout) soakAnew(w *wave) {
	stays := func(m *member) bool { return !m.late || r.wasSent(m) }
	if w.soaking && w.status.PassedAt == nil && len(w.members) > 0 && !slices.ContainsFunc(w.members, stays) {
		w.soaking, w.status.WellSince = false, nil
	}
}

func (r *rollout) join(m *member) {
	r.members = append(r.members, m)
	m.wave.members = append(m.wave.members, m)
}

// positions returns the positions of the clusters in a status, by name.
func positions(status *fairleadv1alpha1.StagedRolloutStatus) map[string]position {
	out := map[string]position{}
	for _, group := range status.Clusters {
		for _, name := range group.Names {
			out[name] = position{group.State, group.Reason, group.Revision}
		}
	}
	return out
}
