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
	// newest and stable are the revisions of that name; stable changes when the last wave passes.
	newest, stable revision.ID
	// completed says that newest is stable.
	completed bool
	waves     []*wave
	members   []*member // by name
	// current is the index of the wave that is going on.
	current int
	// lifted says that a person did something about failures.
	lifted bool
	// hold is why nobody is sent the newest revision, whatever is in its strategy.
	hold *Reason
	halt *Reason
	// waiting is why the current wave does not go on by itself.
	waiting *Reason
	out     Decision
}

// steps is how many times one thing may follow from another in one decision. What follows still is
// decided the next time.
const steps = 8

// Decide says what a rollout does next. It is total: whatever it is given, it sends nothing to
// anybody whose turn it is not. What it returns is at rest: deciding again at the same time, with
// the status that it returned, changes nothing.
func Decide(in Input) Decision {
	out := decide(in)
	for range steps {
		if out.Cut != nil || equality.Semantic.DeepEqual(out.Status, in.Status) {
			break
		}
		in.Status, in.Memory = out.Status, out.Memory
		next := decide(in)
		if next.Cut != nil { // One thing after the other: what led to it is written first.
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
	if in.Status.Revision == 0 && in.Hold == nil {
		return out // Nothing is known of the content yet.
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

// id returns a revision that is kept, or none.
func (r *rollout) id(number int64) revision.ID { return revision.Of(r.in.Status.Revisions, number) }

// blocked says that nobody is to be sent anything now.
func (r *rollout) blocked() bool { return r.in.Spec.Paused || r.in.HubSuspect || r.hold != nil }

// wentBack says that a person went back with the newest revision. It goes by what was frozen with it.
func (r *rollout) wentBack() bool {
	cause := r.made().Cause
	return cause == fairleadv1alpha1.CauseUndone || cause == fairleadv1alpha1.CauseAborted
}

// wake asks for another decision after some time.
func (d *Decision) wake(after time.Duration) {
	if after > 0 && (d.RetryAfter == 0 || after < d.RetryAfter) {
		d.RetryAfter = after
	}
}

func (r *rollout) say(warning bool, reason, message string) {
	r.out.Events = append(r.out.Events, Event{Warning: warning, Reason: reason, Message: message})
}

// slot is where the frozen waves have a cluster.
type slot struct {
	wave     *wave
	position int
}

// gather puts together the waves and those who are in them.
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

// gatherWaves puts together the waves as they were left, and returns where each cluster was put when they were frozen, by its name.
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

// skipped are the clusters that a person leaves out of the newest revision.
func (r *rollout) skipped() sets.Set[string] {
	out := sets.Set[string]{}
	for _, s := range r.in.Spec.Skip {
		if s.Revision == r.newest.Number {
			out.Insert(s.Cluster)
		}
	}
	return out
}

// gatherTargets joins the targets of the application to their waves, and returns their names.
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

// gatherDeparted looks after those that were targets before: some count still.
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
			r.lifted = true // Somebody took it out of the application: that is a way to mend it.
		case at.state == fairleadv1alpha1.ClusterLost && skipped.Has(name):
			r.lifted = true
		case !r.completed && !skipped.Has(name) && (at.state == fairleadv1alpha1.ClusterLost || r.cutOff(m)):
			// What was sent may be what cut it off, and that is why it was moved away: it still counts.
			r.join(m)
		}
	}
}

// soakAnew ends the soak of a wave whose members have all come too late for it: those have left who were to prove something.
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

// positions are how the clusters were when the status was written.
func positions(status *fairleadv1alpha1.StagedRolloutStatus) map[string]position {
	out := map[string]position{}
	for _, group := range status.Clusters {
		for _, name := range group.Names {
			out[name] = position{group.State, group.Reason, group.Revision}
		}
	}
	return out
}
