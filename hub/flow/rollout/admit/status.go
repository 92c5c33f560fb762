package admit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// count sets the numbers of the waves.
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

// write sets the rest of the status.
func (r *rollout) write() {
	r.status.Wave = ""
	if !r.completed {
		r.status.Wave = r.waves[min(r.current, len(r.waves)-1)].settings.Name
	}
	r.group()
	r.forget()
	var progressing Reason
	if r.status.Phase, progressing = r.phase(); r.in.Unseen != "" {
		progressing.Message += " " + r.in.Unseen
	}
	r.condition(fairleadv1alpha1.RolloutConditionProgressing, r.goesOn(), progressing)
	r.writeHalted()
	r.writeCaughtUp()
	r.sayWaiting(progressing)
	r.sayLongSilent()
	if r.in.HubSuspect && (!r.completed || len(r.status.Clusters) > 0) {
		r.out.wake(suspectAgain) // that changes with clusters that this rollout may not have, whose events do not enqueue it
	}
	r.out.Urgent = r.urgent()
	r.out.Status = r.status
}

// group sets the groups of clusters, without those that simply have the stable revision.
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

// grouped returns clusters as sorted groups for a status.
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

// phase returns the phase of the rollout, with the reason for the condition Progressing.
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
		return fairleadv1alpha1.RolloutCompleted, *r.in.Hold // the next edit will not be sent
	case r.completed:
		return fairleadv1alpha1.RolloutCompleted, Reason{fairleadv1alpha1.ReasonRolloutCompleted, fmt.Sprintf("Revision %d has passed every wave.", r.newest.Number)}
	case r.in.Spec.Paused:
		return fairleadv1alpha1.RolloutPaused, Reason{fairleadv1alpha1.ReasonRolloutPaused, "A person paused it: hub rollout resume."}
	case r.hold != nil:
		return fairleadv1alpha1.RolloutWaiting, *r.hold
	case r.in.HubSuspect:
		return fairleadv1alpha1.RolloutWaiting, Reason{
			fairleadv1alpha1.ReasonRolloutHubSuspect,
			"Most clusters fell silent at once, so the hub suspects its own network: until they are back, nothing is sent and no cluster counts as failed.",
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

// goesOn returns whether the rollout proceeds without a person.
func (r *rollout) goesOn() bool {
	return r.status.Phase == fairleadv1alpha1.RolloutProgressing || r.status.Phase == fairleadv1alpha1.RolloutSoaking
}

// missingTarget returns whether spec.target names a revision that is not stored any more.
func (r *rollout) missingTarget() bool {
	t := r.in.Spec.Target
	return t != nil && t.Over == r.newest.Number && r.id(t.Revision).Zero()
}

func (r *rollout) targetAbsent() Reason {
	return Reason{fairleadv1alpha1.ReasonRolloutRevisionAbsent, fmt.Sprintf(
		"Revision %d, which spec.target names, is no longer kept: hub rollout history shows the revisions that are.", r.in.Spec.Target.Revision)}
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
		r.condition(fairleadv1alpha1.RolloutConditionHalted, false, Reason{fairleadv1alpha1.ReasonRolloutWave, "No wave has more failures than allowed."})
		return
	}
	r.condition(fairleadv1alpha1.RolloutConditionHalted, true, *r.halt)
	if before == nil || before.Status != metav1.ConditionTrue {
		r.say(true, EventHalted, r.halt.Message)
	}
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

// sayLongSilent warns once of clusters that have been set aside for long.
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

// urgent returns whether the status must be written at once: a person, a gate or a failure changed it.
func (r *rollout) urgent() bool {
	return r.in.Status.Phase == "" || r.in.Status.Phase != r.status.Phase || r.in.Status.Wave != r.status.Wave || r.in.Status.Stable != r.status.Stable ||
		!slices.Equal(r.in.Status.Retried, r.status.Retried)
}

// suspectAgain and readAgain are after how long to check again whether the hub suspects its own network, and whether a stored revision can
// be read. No event tells of either.
const (
	suspectAgain = 15 * time.Second
	readAgain    = time.Minute
)

// unreadable returns the decision if the newest revision cannot be read: nothing is sent, and the states of clusters stay, except that none
// catches up.
func unreadable(in Input, out Decision) Decision {
	why := Reason{fairleadv1alpha1.ReasonRolloutRevisionAbsent, fmt.Sprintf("The content of revision %d cannot be read: nothing is sent. Have an operator restore its Secrets, or edit the template.", in.Status.Revision)}
	switch {
	case in.Hold != nil:
		why = *in.Hold
	case in.Status.Revision == 0:
		why = Reason{workv1alpha2.ReasonEditNotSeen, in.Unseen}
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
