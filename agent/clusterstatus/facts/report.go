package facts

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

const (
	// roundsPerReport is how many times the member is asked how it is until what an agent counts
	// of itself may cost a request: by default that is five minutes.
	roundsPerReport = 30
	// reportsPerTraffic is after how many times as long bytes alone are worth one. The answer to
	// a write is the whole Cluster, which costs more bytes than most agents send in minutes.
	reportsPerTraffic = 12
)

// ReportEvery is how often an agent may write to the hub for what it counts of itself alone, given
// how often it asks the member how it is.
func ReportEvery(frequency time.Duration) time.Duration { return roundsPerReport * frequency }

// Report completes what an agent counts of itself: with the time, and with how often it was started.
// Reported is what this start has told, nil if that is nothing yet, and found is what the hub has.
func Report(reported, found *clusterv1alpha1.AgentReport, counted clusterv1alpha1.AgentReport, now time.Time) clusterv1alpha1.AgentReport {
	counted.Time, counted.Started = metav1.NewTime(now).Rfc3339Copy(), counted.Started.Rfc3339Copy()
	switch {
	case reported != nil:
		counted.Restarts = reported.Restarts
	case found == nil:
	case found.Started.Equal(&counted.Started): // our own, of which the answer was lost
		counted.Restarts = found.Restarts
	default:
		counted.Restarts = found.Restarts + 1
	}
	return counted
}

// ReportDue says whether what an agent counts of itself is worth a write. That of a start that has
// told nothing yet is; afterwards only what changed, and bytes alone seldom.
func ReportDue(reported, next *clusterv1alpha1.AgentReport, every time.Duration) bool {
	if reported == nil {
		return true
	}
	since := next.Time.Sub(reported.Time.Time)
	switch {
	case since < 0: // the clock was put back
		return true
	case reported.NoLine != "" && next.NoLine == "": // people would look for a fault that is gone
		return true
	case since < every:
		return false
	case since < reportsPerTraffic*every:
		return !equality.Semantic.DeepEqual(withoutBytes(reported), withoutBytes(next))
	default:
		return true
	}
}

// withoutBytes returns what a report says apart from its time and the amounts of bytes.
func withoutBytes(r *clusterv1alpha1.AgentReport) *clusterv1alpha1.AgentReport {
	out := r.DeepCopy()
	out.Time, out.SentBytes, out.ReceivedBytes = metav1.Time{}, 0, 0
	if out.Journal != nil {
		out.Journal.Bytes = 0
	}
	return out
}
