package facts

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// statusOK is http.StatusOK. Pure packages do not import net/http.
const statusOK = 200

// statusUnauthorized is http.StatusUnauthorized: the server does not accept the credentials.
const statusUnauthorized = 401

// refusedMessage explains a member whose API server answers but rejects the agent, and what to do.
const refusedMessage = "the member's API server answers, but refuses the credentials that the agent has for its own cluster (401 Unauthorized), so nothing can be applied " +
	"or read there. If the agent runs in the member, check that its ServiceAccount exists and restart its pod (kubectl rollout restart deployment); " +
	"otherwise give it a valid kubeconfig, and start it again"

// Probe is the answer of the member's API server to the readiness check.
type Probe struct {
	// Answered says whether there was an answer.
	Answered bool
	// Code is the status of the answer.
	Code int
}

// Ready returns the condition Ready for a probe.
func Ready(probe Probe) metav1.Condition {
	c := metav1.Condition{Type: clusterv1alpha1.ClusterReady}
	switch {
	case probe.Answered && probe.Code == statusOK:
		c.Status, c.Reason = metav1.ConditionTrue, clusterv1alpha1.ReasonClusterReady
		c.Message = "cluster is healthy and ready to accept workloads"
	case probe.Answered:
		c.Status, c.Reason = metav1.ConditionFalse, clusterv1alpha1.ReasonClusterNotReady
		c.Message = "cluster is reachable but health endpoint responded without ok"
	case probe.Code == statusUnauthorized: // no more is known of the member than if it did not answer
		c.Status, c.Reason = metav1.ConditionFalse, clusterv1alpha1.ReasonClusterNotReachable
		c.Message = refusedMessage
	default:
		c.Status, c.Reason = metav1.ConditionFalse, clusterv1alpha1.ReasonClusterNotReachable
		c.Message = "cluster is not reachable"
	}
	return c
}

// Debouncer keeps a flapping member from flapping on the hub: a change of Ready counts once it has lasted for a
// while.
type Debouncer struct {
	// SuccessThreshold is how long a member must be ready before it is reported Ready.
	SuccessThreshold time.Duration
	// FailureThreshold is the same for a member that is not ready.
	FailureThreshold time.Duration

	status metav1.ConditionStatus
	since  time.Time
}

// Next records an observation and returns whether it counts; if not, the current condition, which may be nil, stays.
// The first observation always counts.
func (d Debouncer) Next(observed metav1.Condition, current *metav1.Condition, now time.Time) (next Debouncer, counts bool) {
	next = d
	if d.status == "" {
		next.status = observed.Status // with the zero time, as if it had lasted for ever
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
