package facts

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// statusOK is the answer of a server that is ready. (What only thinks does not import
// net/http.)
const statusOK = 200

// statusUnauthorized is the answer of a server that does not know who asks.
const statusUnauthorized = 401

// refusedMessage says that nothing is known of a member whose API server is there, and what to do.
const refusedMessage = "the member's API server is there, but refuses the credentials that the agent has for its own cluster (401 Unauthorized), so that nothing can be applied " +
	"or seen there. If the agent runs in the member, see that its ServiceAccount is there and have its pod made anew (kubectl rollout restart deployment); " +
	"otherwise give it a kubeconfig that is valid, and start it again"

// Probe is what the member's API server answered when it was asked whether it is ready.
type Probe struct {
	// Answered says whether it answered with success at all.
	Answered bool
	// Code is the status of the answer.
	Code int
}

// Ready returns the condition Ready that a probe suggests.
func Ready(probe Probe) metav1.Condition {
	c := metav1.Condition{Type: clusterv1alpha1.ClusterReady}
	switch {
	case probe.Answered && probe.Code == statusOK:
		c.Status, c.Reason = metav1.ConditionTrue, clusterv1alpha1.ReasonClusterReady
		c.Message = "cluster is healthy and ready to accept workloads"
	case probe.Answered:
		c.Status, c.Reason = metav1.ConditionFalse, clusterv1alpha1.ReasonClusterNotReady
		c.Message = "cluster is reachable but health endpoint responded without ok"
	case probe.Code == statusUnauthorized: // of what is in the member, no more is known than if it did not answer
		c.Status, c.Reason = metav1.ConditionFalse, clusterv1alpha1.ReasonClusterNotReachable
		c.Message = refusedMessage
	default:
		c.Status, c.Reason = metav1.ConditionFalse, clusterv1alpha1.ReasonClusterNotReachable
		c.Message = "cluster is not reachable"
	}
	return c
}

// Debouncer keeps a member that comes and goes from doing so on the hub: a change of Ready
// counts once it has held for a while.
type Debouncer struct {
	// SuccessThreshold is for how long a member must be ready before it is called so.
	SuccessThreshold time.Duration
	// FailureThreshold is the same for a member that is not.
	FailureThreshold time.Duration

	status metav1.ConditionStatus
	since  time.Time
}

// Next takes over an observation and says whether it counts. Otherwise the current
// condition, which may be nil, stays. The first observation of a Debouncer counts.
func (d Debouncer) Next(observed metav1.Condition, current *metav1.Condition, now time.Time) (next Debouncer, counts bool) {
	next = d
	if d.status == "" {
		next.status = observed.Status // and the zero time: it has held for ever
		return next, true
	}
	if d.status != observed.Status {
		next.status, next.since = observed.Status, now
	}
	if current == nil {
		return next, true
	}
	held := now.Sub(next.since)
	ready, wasReady := observed.Status == metav1.ConditionTrue, current.Status == metav1.ConditionTrue
	switch {
	case ready && !wasReady:
		return next, held >= d.SuccessThreshold
	case !ready && wasReady:
		return next, held >= d.FailureThreshold
	default:
		return next, true
	}
}
