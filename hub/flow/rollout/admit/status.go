package admit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/flow/rollout/judge"
)

// count fills in the numbers of the waves.
func (r *rollout) count() {
	r.status.Waves = nil
	for _, w := range r.waves {
		for _, m := range w.members {
			w.status.Size++
			switch m.now.state {
			case fairleadv1alpha1.ClusterHealthy:
				w.status.Healthy++
			case fairleadv1alpha1.ClusterInFlight:
				w.status.InFlight++
			case fairleadv1alpha1.ClusterFailed:
				w.status.Failed++
			case fairleadv1alpha1.ClusterLost:
				w.status.Lost++
			case fairleadv1alpha1.ClusterSkipped:
				w.status.Skipped++
			case fairleadv1alpha1.ClusterSetAside, fairleadv1alpha1.ClusterReturning, fairleadv1alpha1.ClusterCatchingUp:
				w.status.SetAside++
			default:
				w.status.Held++
			}
		}
		r.status.Waves = append(r.status.Waves, w.status)
	}
}

// write makes the rest of the status.
func (r *rollout) write() {
	r.status.Wave = ""
	if !r.completed {
		r.status.Wave = r.waves[min(r.current, len(r.waves)-1)].settings.Name
	}
	r.group()
	r.forget()
	var progressing Reason
	r.status.Phase, progressing = r.phase()
	r.condition(fairleadv1alpha1.RolloutConditionProgressing, r.goesOn(), progressing)
	r.writeHalted()
	r.writeCaughtUp()
	r.sayWaiting(progressing)
	r.sayLongSilent()
	if r.in.HubSuspect && (!r.completed || len(r.status.Clusters) > 0) {
		r.out.wake(suspectAgain) // That depends on all clusters, of which this rollout may have few.
	}
	r.out.Urgent = r.urgent()
	r.out.Status = r.status
}

// group names the clusters that do not simply have the stable revision.
func (r *rollout) group() {
	names := map[position][]string{}
	for _, m := range r.members {
		held := m.in(fairleadv1alpha1.ClusterHeld) && m.now.revision == r.stable.Number
		done := r.completed && m.in(fairleadv1alpha1.ClusterHealthy)
		if !held && !done {
			names[m.now] = append(names[m.now], m.name)
		}
		if m.in(fairleadv1alpha1.ClusterSetAside) && m.silent() && (r.out.OldestSetAside.IsZero() || m.SilentSince.Before(r.out.OldestSetAside)) {
			r.out.OldestSetAside = m.SilentSince
		}
	}
	r.status.Clusters = grouped(names)
}

// grouped are clusters as a status names them, in one order.
func grouped(names map[position][]string) []fairleadv1alpha1.ClusterGroup {
	var out []fairleadv1alpha1.ClusterGroup
	for at, clusters := range names {
		slices.Sort(clusters)
		out = append(out, fairleadv1alpha1.ClusterGroup{State: at.state, Reason: at.reason, Revision: at.revision, Names: clusters})
	}
	slices.SortFunc(out, func(a, b fairleadv1alpha1.ClusterGroup) int {
		return cmp.Or(cmp.Compare(a.State, b.State), cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// phase sums up how the rollout is, with what is waited for.
func (r *rollout) phase() (fairleadv1alpha1.RolloutPhase, Reason) {
	flying := 0
	for _, m := range r.members {
		if m.in(fairleadv1alpha1.ClusterInFlight) {
			flying++
		}
	}
	switch {
	case r.halt != nil:
		return fairleadv1alpha1.RolloutHalted, *r.halt
	case r.missingTarget() && !r.completed:
		return r.status.Phase, r.targetAbsent()
	case r.completed && r.status.Immediately && flying > 0:
		return fairleadv1alpha1.RolloutProgressing, Reason{
			fairleadv1alpha1.ReasonRolloutWave,
			fmt.Sprintf("Revision %d goes to all clusters at once; %s not healthy with it yet.", r.newest.Number, clustersAre(flying)),
		}
	case r.missingTarget():
		return fairleadv1alpha1.RolloutCompleted, r.targetAbsent()
	case r.completed && r.in.Hold != nil:
		return fairleadv1alpha1.RolloutCompleted, *r.in.Hold // What is edited next goes nowhere.
	case r.completed:
		return fairleadv1alpha1.RolloutCompleted, Reason{fairleadv1alpha1.ReasonRolloutCompleted, fmt.Sprintf("Revision %d has passed every wave.", r.newest.Number)}
	case r.in.Spec.Paused:
		return fairleadv1alpha1.RolloutPaused, Reason{fairleadv1alpha1.ReasonRolloutPaused, "A person paused it: hub rollout resume."}
	case r.hold != nil:
		return fairleadv1alpha1.RolloutWaiting, *r.hold
	case r.in.HubSuspect:
		return fairleadv1alpha1.RolloutWaiting, Reason{
			fairleadv1alpha1.ReasonRolloutHubSuspect,
			"Most clusters fell silent at once, so that the hub suspects its own network: nothing is sent, and nobody fails, until they are back.",
		}
	case r.waiting == nil:
		return fairleadv1alpha1.RolloutProgressing, Reason{fairleadv1alpha1.ReasonRolloutWave, fmt.Sprintf("Revision %d is rolled out.", r.newest.Number)}
	}
	phases := map[string]fairleadv1alpha1.RolloutPhase{
		fairleadv1alpha1.ReasonRolloutSoaking:       fairleadv1alpha1.RolloutSoaking,
		fairleadv1alpha1.ReasonRolloutNeedsApproval: fairleadv1alpha1.RolloutWaiting,
		fairleadv1alpha1.ReasonRolloutTooFewHeard:   fairleadv1alpha1.RolloutWaiting,
		fairleadv1alpha1.ReasonRolloutWave:          fairleadv1alpha1.RolloutProgressing,
	}
	return phases[r.waiting.Reason], *r.waiting
}

// goesOn says whether the revision goes on without a person.
func (r *rollout) goesOn() bool {
	return r.status.Phase == fairleadv1alpha1.RolloutProgressing || r.status.Phase == fairleadv1alpha1.RolloutSoaking
}

// missingTarget says that a person wants to go back to a revision that is not kept.
func (r *rollout) missingTarget() bool {
	t := r.in.Spec.Target
	return t != nil && t.Over == r.newest.Number && r.id(t.Revision).Zero()
}

func (r *rollout) targetAbsent() Reason {
	return Reason{fairleadv1alpha1.ReasonRolloutRevisionAbsent, fmt.Sprintf(
		"Revision %d, which spec.target names, is not kept any more: hub rollout history shows those that are.", r.in.Spec.Target.Revision)}
}

func (r *rollout) condition(kind string, status bool, why Reason) {
	value := metav1.ConditionFalse
	if status {
		value = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&r.status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: why.Reason, Message: why.Message, ObservedGeneration: r.in.Generation,
		LastTransitionTime: metav1.NewTime(r.now().Time),
	})
}

func (r *rollout) writeHalted() {
	before := meta.FindStatusCondition(r.in.Status.Conditions, fairleadv1alpha1.RolloutConditionHalted)
	if r.halt == nil {
		r.condition(fairleadv1alpha1.RolloutConditionHalted, false, Reason{fairleadv1alpha1.ReasonRolloutWave, "No wave has more failures than it may."})
		return
	}
	r.condition(fairleadv1alpha1.RolloutConditionHalted, true, *r.halt)
	if before == nil || before.Status != metav1.ConditionTrue {
		r.say(true, EventHalted, r.halt.Message)
	}
}

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
				fairleadv1alpha1.ReasonRolloutBeingSent, fmt.Sprintf("%s without revision %d so far, which is to be sent; if it stays so, the conditions of the binding say why.", clustersAre(unsent), r.stable.Number),
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
		message += " So nobody else is let in: hub rollout retry, or skip them."
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

// sayBegun tells of a new revision.
func (r *rollout) sayBegun() {
	made := r.made()
	message := fmt.Sprintf("Revision %d was made (%s).", made.Number, made.Cause)
	if made.Cause == fairleadv1alpha1.CauseRolledBack {
		r.say(true, EventRolledBack, fmt.Sprintf("%s Going back to the content of revision %d.", made.Message, made.ContentOf))
	} else if made.Message != "" {
		message += " " + made.Message
	}
	r.say(false, EventRevisionCut, message)
}

func (r *rollout) sayWaiting(why Reason) {
	before := meta.FindStatusCondition(r.in.Status.Conditions, fairleadv1alpha1.RolloutConditionProgressing)
	if why.Reason == fairleadv1alpha1.ReasonRolloutNeedsApproval && (before == nil || before.Reason != why.Reason || before.Message != why.Message) {
		r.say(false, EventWaitingForApproval, why.Message)
	}
}

// sayLongSilent warns of those that have been set aside for long, once.
func (r *rollout) sayLongSilent() {
	var fresh []*member
	for _, m := range r.members {
		if m.in(fairleadv1alpha1.ClusterSetAside) && m.now.reason == fairleadv1alpha1.ClusterReasonSilentForLong && m.before.reason != m.now.reason {
			fresh = append(fresh, m)
		}
	}
	if len(fresh) > 0 {
		r.say(true, EventLongSilent, fmt.Sprintf("%s set aside for more than %s: %s.", clustersAre(len(fresh)), r.spec.CatchUp.WarnAfter.Duration, list(fresh)))
	}
}

// urgent says whether a person or a gate is behind what is new.
func (r *rollout) urgent() bool {
	return r.in.Status.Phase == "" || r.in.Status.Phase != r.status.Phase || r.in.Status.Wave != r.status.Wave || r.in.Status.Stable != r.status.Stable ||
		!slices.Equal(r.in.Status.Retried, r.status.Retried)
}

// suspectAgain is after how long it is seen whether the hub suspects itself still, and readAgain whether what was kept can be read: no
// change tells of either.
const (
	suspectAgain = 15 * time.Second
	readAgain    = time.Minute
)

// unreadable is the decision without what is kept with the newest revision: nobody is sent
// anything, and nobody is said to be anything else than before, but that nobody catches up.
func unreadable(in Input, out Decision) Decision {
	why := Reason{fairleadv1alpha1.ReasonRolloutRevisionAbsent, fmt.Sprintf("The content of revision %d cannot be read: nothing is sent. Have an operator restore its Secrets, or edit the template.", in.Status.Revision)}
	if in.Hold != nil {
		why = *in.Hold
	}
	out.wake(readAgain)
	out.Status.Clusters = giveBack(in)
	out.Status.Phase = fairleadv1alpha1.RolloutWaiting
	meta.SetStatusCondition(&out.Status.Conditions, metav1.Condition{
		Type: fairleadv1alpha1.RolloutConditionProgressing, Status: metav1.ConditionFalse, Reason: why.Reason, Message: why.Message,
		ObservedGeneration: in.Generation, LastTransitionTime: metav1.NewTime(in.Now.Truncate(1e9)),
	})
	return out
}
