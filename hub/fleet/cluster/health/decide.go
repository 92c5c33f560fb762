package health

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/disruption"
)

// The messages that the hub writes when it no longer hears from an agent.
const (
	// MessageNeverUpdated is the message of ReasonClusterStatusNeverUpdated.
	MessageNeverUpdated = "Cluster status controller never posted cluster status."
	// MessageStopped is the message of ReasonClusterStatusUnknown.
	MessageStopped = "Cluster status controller stopped posting cluster status."
	// MessageDisconnected is the message of ReasonAgentDisconnected.
	MessageDisconnected = "The agent's line to the hub was lost, and the agent has not come back: it was stopped, or its machine or its network failed. " +
		"What runs in the cluster goes on; check whether the agent runs and reaches the hub."
)

// Options are the grace periods.
type Options struct {
	// Period is how long the hub's process may be suspended. After a longer suspension missing heartbeats prove nothing, and the grace
	// period starts over.
	Period time.Duration
	// Grace is how long a member that has reported may be silent, unless its lease asks for longer.
	Grace time.Duration
	// StartupGrace is how long a member may take until its first report.
	StartupGrace time.Duration
	// FirstGrace is the grace period after a start of the hub, if it is longer than Grace: agents with a line renew their lease rarely. It
	// lasts longer while agents come back: see disruption.HeardBy.
	FirstGrace time.Duration
	// LineGrace is how long a member that has reported may take to reopen its line.
	LineGrace time.Duration
}

// Detection of members whose heartbeats come and go.
const (
	// flapWindow is how long a silence is remembered.
	flapWindow = 10 * time.Minute
	// firstSettle is how long heartbeats must come after a second silence before the member counts as back; it doubles with each further silence.
	firstSettle = 30 * time.Second
	// lastSettle is the longest of these times.
	lastSettle = 4 * time.Minute
)

// mostPatience bounds the silence that an agent can ask for by its lease.
const mostPatience = contract.RestingLease

// Memory is the state of one cluster that the hub keeps in memory between two decisions.
type Memory struct {
	// Heard is when the hub last saw a heartbeat.
	Heard time.Time
	// Renewed is the renewTime of the lease at that time. It is only compared for equality, since the agent's clock may be wrong.
	Renewed time.Time
	// Due is the time of the next decision; zero if none is due.
	Due time.Time
	// Silences are the times at which the member fell silent within flapWindow, the oldest first.
	Silences []time.Time
	// Settled is when a member whose heartbeats come and go will count as back.
	Settled time.Time
	// Started is when the hub started, or went on after a suspension.
	Started time.Time
	// Losses are the times at which the line was lost without a goodbye within lossWindow, the oldest first.
	Losses []time.Time

	// unheard says that the member had reported before the hub started, and was not heard from since.
	unheard bool
	ready   report
	// lost is the time of the last loss of the line, and warned the time of the last warning that it is unstable.
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
	// Ready is the present condition; nil if there is none.
	Ready *metav1.Condition
	// Generation is that of the Cluster.
	Generation int64
	// Renewed is the renewTime of the lease; zero if it was never renewed.
	Renewed time.Time
	// Patience is the leaseDuration, by which a renewal holds without a line; 0 if the lease has none.
	Patience time.Duration
	// Line is the state of the agent's line.
	Line Line
	// Suspect says that the line was lost together with most others: see LineLosses.
	Suspect bool
	// Memory is the memory of the last decision; nil at the first one of this process.
	Memory *Memory
	// Awake is since when the hub has run without a suspension: see Watchdog.
	Awake time.Time
	// Reconnected is when any member was last heard from for the first time since the hub started: see Decision. Zero if none was.
	Reconnected time.Time
	// Options are the grace periods.
	Options Options
}

// Decision is the result of Decide.
type Decision struct {
	// Memory is the state to pass to the next decision.
	Memory Memory
	// Ready is the Ready condition to write; nil to leave the written one.
	Ready *metav1.Condition
	// Settling says that the member's heartbeats are back, but came and went too often to count yet: the taints for its silence stay.
	Settling bool
	// Unstable is the number of recent losses of the line if a warning is due; else 0.
	Unstable int
	// Reconnected says that a member that had reported before the hub started was heard from for the first time since.
	// It is set once after each start, and not for a line that an earlier leader of the hub had already seen.
	Reconnected bool
	// RecheckAfter is the delay until the next decision if nothing happens before; zero if none is needed.
	RecheckAfter time.Duration
}

// Decide decides whether a member is alive. A heartbeat is a changed Ready condition, a renewed lease, or an open line.
// Decide sets Ready only to Unknown: only the agent knows whether its member is ready.
func Decide(in Input) Decision {
	memory := Memory{Heard: in.Now, Renewed: in.Renewed, Started: in.Now, unheard: in.Ready != nil, ready: reportOf(in.Ready)}
	reconnected := false
	if in.Memory != nil && !in.missed() {
		memory.Started = in.Memory.Started
		reconnected = in.Memory.unheard && in.isHeardAnew(memory)
		memory.unheard = in.Memory.unheard && !reconnected
		if !in.Line.Up && isUnchanged(in, memory) {
			memory.Heard = in.previouslyHeard()
		}
	}
	settle(in, &memory)
	unstable := countLosses(in, &memory)
	if in.Ready != nil && in.Ready.Status == metav1.ConditionUnknown {
		return Decision{Memory: memory, Unstable: unstable, Reconnected: reconnected} // only a heartbeat changes that, and it triggers a reconcile
	}
	deadline, disconnected := in.deadline(memory)
	if in.Now.Before(deadline) {
		memory.Due = deadline
		out := Decision{Memory: memory, RecheckAfter: deadline.Sub(in.Now), Unstable: unstable, Reconnected: reconnected}
		if left := memory.Settled.Sub(in.Now); left > 0 {
			out.Settling = true
			out.Memory.Due = in.Now.Add(min(left, out.RecheckAfter))
			out.RecheckAfter = out.Memory.Due.Sub(in.Now)
		}
		return out
	}
	unknown := unknown(in, disconnected)
	memory.ready = reportOf(unknown) // our own write must not count as a heartbeat
	if !disconnected {               // how long a disconnection lasts is known only when it is over: see settle
		memory.Silences = append(memory.Silences, in.Now)
	}
	memory.Settled = time.Time{}
	return Decision{Memory: memory, Ready: unknown, Unstable: unstable, Reconnected: reconnected}
}

// settle carries over the silences, and decides when a member whose heartbeats are back counts as back: at once after
// its first silence. A line that was briefly lost, as when an agent restarts, is not a silence: without lines it would
// not have been noticed.
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

// missed says that the hub was suspended when the last decision was due, so that missing heartbeats prove nothing.
func (in Input) missed() bool {
	return !in.Memory.Due.IsZero() && in.Memory.Due.Before(in.Awake)
}

// isUnchanged says whether neither the condition nor the lease was written since the last decision.
func isUnchanged(in Input, now Memory) bool {
	return now.ready == in.Memory.ready && now.Renewed.Equal(in.Memory.Renewed)
}

// isHeardAnew says whether there was a heartbeat since the hub started. A line that was open at the start does not tell
// when the agent came, nor does the lease, which is rarely renewed beside a line.
func (in Input) isHeardAnew(now Memory) bool {
	if in.Line.Up {
		return in.Line.Since.After(now.Started)
	}
	return !isUnchanged(in, now)
}

// previouslyHeard returns the time of the last heartbeat of a member that is silent now.
func (in Input) previouslyHeard() time.Time {
	if in.Line.down() && in.Line.Lost.After(in.Memory.Heard) {
		return in.Line.Lost // the open line counted as a heartbeat until then
	}
	return in.Memory.Heard
}

// deadline returns when the member becomes Unknown unless there is a heartbeat, and whether a lost line is the reason.
// While the line is open, it is the time of the next check for a suspension of the hub.
func (in Input) deadline(memory Memory) (at time.Time, disconnected bool) {
	grace := in.grace()
	if in.Line.Up {
		return in.Now.Add(grace / 2), false
	}
	if in.disconnected(memory) {
		return in.reopenedBy(memory, grace), true
	}
	at = memory.Heard.Add(grace)
	if first := disruption.HeardBy(memory.Started, in.Reconnected, in.Options.FirstGrace); first.After(at) {
		at = first
	}
	return at, false
}

// reopenedBy returns until when the member has time to reopen its lost line: LineGrace, or longer as long as other
// members come back to a hub that was started. Its API, busy with all of them, loses lines that it has only just
// accepted, and an agent that lost its line waits with the others until it is accepted again.
func (in Input) reopenedBy(memory Memory, grace time.Duration) time.Time {
	at := in.Line.Lost.Add(min(in.Options.LineGrace, grace))
	if !in.Reconnected.After(in.Line.Lost) {
		return at
	}
	waits := in.Reconnected.Add(linesReopen)
	if most := memory.Started.Add(disruption.MostStartGrace); waits.After(most) {
		waits = most
	}
	if waits.After(at) {
		return waits
	}
	return at
}

// grace is the grace period: longer than usual if the lease says that it is renewed rarely, for instance over a poor connection.
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
