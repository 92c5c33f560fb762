package health

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// What the hub writes when it no longer hears from an agent.
const (
	// MessageNeverUpdated is the message of ReasonClusterStatusNeverUpdated.
	MessageNeverUpdated = "Cluster status controller never posted cluster status."
	// MessageStopped is the message of ReasonClusterStatusUnknown.
	MessageStopped = "Cluster status controller stopped posting cluster status."
)

// Options are how long the hub bears silence.
type Options struct {
	// Period is how late a look at a cluster may come. One that comes later proves
	// nothing: the hub itself had stopped, and starts the grace period over.
	Period time.Duration
	// Grace is how long a member that has reported may be silent.
	Grace time.Duration
	// StartupGrace is how long a member may take until its first report.
	StartupGrace time.Duration
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

// Memory is what the hub remembers of one cluster between two looks.
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

	ready report
}

// report is what makes one Ready condition another one.
type report struct {
	status          metav1.ConditionStatus
	reason, message string
	since           int64
}

// Input is what is known of one cluster.
type Input struct {
	// Now is the hub's time.
	Now time.Time
	// Ready is the condition as it is; nil if there is none.
	Ready *metav1.Condition
	// Generation of the Cluster.
	Generation int64
	// Renewed is the renewTime of the lease; zero if it was never renewed.
	Renewed time.Time
	// Memory is what the last decision left; nil at the first look of this process.
	Memory *Memory
	// Options say how long silence is borne.
	Options Options
}

// Decision is what follows.
type Decision struct {
	// Memory is what to remember.
	Memory Memory
	// Ready is what the condition must become; nil to leave it.
	Ready *metav1.Condition
	// Settling says that the member is heard from again, but fell silent too often of
	// late to be believed yet: what its silence brought about is to stay.
	Settling bool
	// RecheckAfter is when to look again if nothing happens until then; zero if there
	// is no need.
	RecheckAfter time.Duration
}

// Decide says whether a member is still heard from. A sign of life is a Ready
// condition that somebody changed, or a renewed lease. It sets Ready to Unknown and to
// nothing else: the agent alone knows whether its member is ready.
func Decide(in Input) Decision {
	memory := Memory{Heard: in.Now, Renewed: in.Renewed, ready: reportOf(in.Ready)}
	if silent(in, memory) {
		memory.Heard = in.Memory.Heard
	}
	settle(in, &memory)
	if in.Ready != nil && in.Ready.Status == metav1.ConditionUnknown {
		return Decision{Memory: memory} // only a sign of life changes that, and it wakes us
	}
	deadline := memory.Heard.Add(in.grace())
	if in.Now.Before(deadline) {
		memory.Due = deadline
		out := Decision{Memory: memory, RecheckAfter: deadline.Sub(in.Now)}
		if left := memory.Settled.Sub(in.Now); left > 0 {
			out.Settling = true
			out.Memory.Due = in.Now.Add(min(left, out.RecheckAfter))
			out.RecheckAfter = out.Memory.Due.Sub(in.Now)
		}
		return out
	}
	unknown := unknown(in)
	memory.ready = reportOf(unknown) // our own word is no sign of life
	memory.Silences = append(memory.Silences, in.Now)
	memory.Settled = time.Time{}
	return Decision{Memory: memory, Ready: unknown}
}

// settle carries over what is remembered of silences, and says from when on a member
// that was just heard from again is believed: at once the first time.
func settle(in Input, memory *Memory) {
	if in.Memory == nil {
		return
	}
	for _, at := range in.Memory.Silences {
		if in.Now.Sub(at) < flapWindow {
			memory.Silences = append(memory.Silences, at)
		}
	}
	memory.Settled = in.Memory.Settled
	returned := in.Memory.ready.status == metav1.ConditionUnknown && memory.ready.status != metav1.ConditionUnknown
	if again := len(memory.Silences) - 2; returned && again >= 0 {
		memory.Settled = in.Now.Add(min(firstSettle<<min(again, 8), lastSettle))
	}
}

// silent says that nothing happened since the last look, and that the hub looked when
// it was to.
func silent(in Input, now Memory) bool {
	before := in.Memory
	if before == nil || now.ready != before.ready || !now.Renewed.Equal(before.Renewed) {
		return false
	}
	late := !before.Due.IsZero() && in.Now.After(before.Due.Add(in.Options.Period))
	return !late
}

func (in Input) grace() time.Duration {
	if in.Ready == nil {
		return in.Options.StartupGrace
	}
	return in.Options.Grace
}

func unknown(in Input) *metav1.Condition {
	out := &metav1.Condition{
		Type:               clusterv1alpha1.ClusterReady,
		Status:             metav1.ConditionUnknown,
		Reason:             clusterv1alpha1.ReasonClusterStatusUnknown,
		Message:            MessageStopped,
		ObservedGeneration: in.Generation,
		LastTransitionTime: metav1.NewTime(in.Now),
	}
	if in.Ready == nil {
		out.Reason = clusterv1alpha1.ReasonClusterStatusNeverUpdated
		out.Message = MessageNeverUpdated
	}
	return out
}

func reportOf(c *metav1.Condition) report {
	if c == nil {
		return report{}
	}
	return report{status: c.Status, reason: c.Reason, message: c.Message, since: c.LastTransitionTime.Unix()}
}
