package health

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// What the hub writes when it no longer hears from an agent.
const (
	// MessageNeverUpdated is the message of ReasonClusterStatusNeverUpdated.
	MessageNeverUpdated = "Cluster status controller never posted cluster status."
	// MessageStopped is the message of ReasonClusterStatusUnknown.
	MessageStopped = "Cluster status controller stopped posting cluster status."
	// MessageDisconnected is the message of ReasonAgentDisconnected.
	MessageDisconnected = "The agent's line to the hub was lost, and the agent has not come back: it was stopped, or its machine or its network failed. " +
		"What runs in the cluster goes on; look whether the agent runs and reaches the hub."
)

// Options are how long the hub bears silence.
type Options struct {
	// Period is how long the hub may be stopped. After a longer stop what it did not see
	// proves nothing, and it starts the grace period over.
	Period time.Duration
	// Grace is how long a member that has reported may be silent, if its lease does not say longer.
	Grace time.Duration
	// StartupGrace is how long a member may take until its first report.
	StartupGrace time.Duration
	// FirstGrace is how long members may take to be heard from again by a hub that starts, if that is longer than
	// Grace: those that keep a line open renew their lease rarely.
	FirstGrace time.Duration
	// LineGrace is how long a member that has reported may take to open its line again.
	LineGrace time.Duration
}

// How a member that comes and goes is told from one that was away once.
const (
	// flapWindow is how long a silence is remembered.
	flapWindow = 10 * time.Minute
	// firstSettle is how long a member must be heard from after its second silence
	// before it is believed; it doubles with each more.
	firstSettle = 30 * time.Second
	// lastSettle bounds that.
	lastSettle = 4 * time.Minute
)

// mostPatience bounds how long an agent may have the hub bear its silence.
const mostPatience = contract.RestingLease

// Memory is the state of one cluster that the hub keeps in memory between two decisions.
type Memory struct {
	// Heard is when the hub last saw a sign of life.
	Heard time.Time
	// Renewed is the renewTime of the lease then, which is compared and never reckoned
	// with.
	Renewed time.Time
	// Due is when the next look is to be; zero if none is.
	Due time.Time
	// Silences are when the member fell silent of late, the oldest first.
	Silences []time.Time
	// Settled is from when on a member that comes and goes is believed again.
	Settled time.Time
	// Started is when the hub began to look, or began anew after it had been stopped.
	Started time.Time
	// Losses are when the line was lost of late without a goodbye, the oldest first.
	Losses []time.Time

	ready report
	// lost is when the line had been lost last, and warned when people were last told that it is unstable.
	lost, warned time.Time
}

// report is the part of a Ready condition that distinguishes it from another one.
type report struct {
	status          metav1.ConditionStatus
	reason, message string
	since           int64
}

// Input is everything that a decision about one cluster depends on.
type Input struct {
	// Now is the hub's time.
	Now time.Time
	// Ready is the condition as it is; nil if there is none.
	Ready *metav1.Condition
	// Generation of the Cluster.
	Generation int64
	// Renewed is the renewTime of the lease; zero if it was never renewed.
	Renewed time.Time
	// Patience is how long the lease says that a renewal holds without a line; 0 if it does not say.
	Patience time.Duration
	// Line is the state of the agent's line.
	Line Line
	// Suspect says that the line was lost together with most others: see LineLosses.
	Suspect bool
	// Memory is the memory of the last decision; nil at the first one of this process.
	Memory *Memory
	// Awake is since when the hub has run without a stop: see Watchdog.
	Awake time.Time
	// Options say how long silence is borne.
	Options Options
}

// Decision is the result of Decide.
type Decision struct {
	// Memory is to be kept for the next decision.
	Memory Memory
	// Ready is the Ready condition to write; nil to leave the written one.
	Ready *metav1.Condition
	// Settling says that the member is heard from again, but fell silent too often of
	// late to be believed yet: what its silence brought about is to stay.
	Settling bool
	// Unstable is how often the line was lost of late, if that is too often and people are to be told; else 0.
	Unstable int
	// RecheckAfter is when to look again if nothing happens until then; zero if there
	// is no need.
	RecheckAfter time.Duration
}

// Decide says whether a member is still heard from. A sign of life is a Ready
// condition that somebody changed, a renewed lease, or a line that is open. It sets Ready to Unknown and to
// nothing else: the agent alone knows whether its member is ready.
func Decide(in Input) Decision {
	memory := Memory{Heard: in.Now, Renewed: in.Renewed, Started: in.Now, ready: reportOf(in.Ready)}
	if in.Memory != nil && !in.missed() {
		memory.Started = in.Memory.Started
		if !in.Line.Up && isUnchanged(in, memory) {
			memory.Heard = in.previouslyHeard()
		}
	}
	settle(in, &memory)
	unstable := countLosses(in, &memory)
	if in.Ready != nil && in.Ready.Status == metav1.ConditionUnknown {
		return Decision{Memory: memory, Unstable: unstable} // only a sign of life changes that, and it wakes us
	}
	deadline, disconnected := in.deadline(memory)
	if in.Now.Before(deadline) {
		memory.Due = deadline
		out := Decision{Memory: memory, RecheckAfter: deadline.Sub(in.Now), Unstable: unstable}
		if left := memory.Settled.Sub(in.Now); left > 0 {
			out.Settling = true
			out.Memory.Due = in.Now.Add(min(left, out.RecheckAfter))
			out.RecheckAfter = out.Memory.Due.Sub(in.Now)
		}
		return out
	}
	unknown := unknown(in, disconnected)
	memory.ready = reportOf(unknown) // our own word is no sign of life
	if !disconnected {               // how long that lasts is known when it has ended, see settle
		memory.Silences = append(memory.Silences, in.Now)
	}
	memory.Settled = time.Time{}
	return Decision{Memory: memory, Ready: unknown, Unstable: unstable}
}

// settle carries over what is remembered of silences, and says from when on a member
// that was just heard from again is believed: at once the first time. That a line was lost for a moment, as when an agent is
// started anew, is no silence: it would not be one without lines.
func settle(in Input, memory *Memory) {
	if in.Memory == nil {
		return
	}
	memory.Silences = recent(in.Memory.Silences, in.Now, flapWindow)
	memory.Settled = in.Memory.Settled
	returned := in.Memory.ready.status == metav1.ConditionUnknown && memory.ready.status != metav1.ConditionUnknown
	if returned && in.Memory.ready.reason == clusterv1alpha1.ReasonAgentDisconnected && in.Now.Sub(in.Memory.Heard) >= in.Options.Grace {
		memory.Silences = append(memory.Silences, in.Now)
	}
	if again := len(memory.Silences) - 2; returned && again >= 0 {
		memory.Settled = in.Now.Add(min(firstSettle<<min(again, 8), lastSettle))
	}
}

// missed says that the hub was stopped when it was to look: what it did not see proves nothing.
func (in Input) missed() bool {
	return !in.Memory.Due.IsZero() && in.Memory.Due.Before(in.Awake)
}

// isUnchanged says that nothing was written since the last look.
func isUnchanged(in Input, now Memory) bool {
	return now.ready == in.Memory.ready && now.Renewed.Equal(in.Memory.Renewed)
}

// previouslyHeard is when a member was heard from last that is not now.
func (in Input) previouslyHeard() time.Time {
	if in.Line.down() && in.Line.Lost.After(in.Memory.Heard) {
		return in.Line.Lost // until then the line was open
	}
	return in.Memory.Heard
}

// deadline is when the member is to become unknown if nothing is heard until then, and whether that is because its line
// was lost. Of one whose line is open it is when to look again: that tells when the hub itself was stopped.
func (in Input) deadline(memory Memory) (at time.Time, disconnected bool) {
	grace := in.grace()
	if in.Line.Up {
		return in.Now.Add(grace / 2), false
	}
	if in.disconnected(memory) {
		return in.Line.Lost.Add(min(in.Options.LineGrace, grace)), true
	}
	at = memory.Heard.Add(grace)
	if first := memory.Started.Add(in.Options.FirstGrace); first.After(at) {
		at = first
	}
	return at, false
}

// grace is how long silence is borne: longer than usual if the agent says that it renews its lease rarely, as one on a poor line may.
func (in Input) grace() time.Duration {
	usual := in.Options.Grace
	if in.Ready == nil {
		usual = in.Options.StartupGrace
	}
	return max(usual, min(in.Patience, mostPatience))
}

func unknown(in Input, disconnected bool) *metav1.Condition {
	out := &metav1.Condition{
		Type:               clusterv1alpha1.ClusterReady,
		Status:             metav1.ConditionUnknown,
		Reason:             clusterv1alpha1.ReasonClusterStatusUnknown,
		Message:            MessageStopped,
		ObservedGeneration: in.Generation,
		LastTransitionTime: metav1.NewTime(in.Now),
	}
	switch {
	case in.Ready == nil:
		out.Reason, out.Message = clusterv1alpha1.ReasonClusterStatusNeverUpdated, MessageNeverUpdated
	case disconnected:
		out.Reason, out.Message = clusterv1alpha1.ReasonAgentDisconnected, MessageDisconnected
	}
	return out
}

func reportOf(c *metav1.Condition) report {
	if c == nil {
		return report{}
	}
	return report{status: c.Status, reason: c.Reason, message: c.Message, since: c.LastTransitionTime.Unix()}
}
