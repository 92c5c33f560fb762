package facts

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

const (
	// roundsPerReport is the number of rounds after which the agent's own counters may cost a write: by default five
	// minutes.
	roundsPerReport = 30
	// reportsPerTraffic is how many times as long changed byte counts alone must wait. The answer to a write is the
	// whole Cluster, which costs more bytes than most agents send in minutes.
	reportsPerTraffic = 12
)

// ReportEvery returns how often the agent's own counters alone may cause a write, given the interval of the rounds.
func ReportEvery(frequency time.Duration) time.Duration { return roundsPerReport * frequency }

// Report completes the agent's own counters with the time and the number of restarts. reported is what this process
// has reported, nil if nothing yet, and found is what the hub has.
func Report(reported, found *clusterv1alpha1.AgentReport, counted clusterv1alpha1.AgentReport, now time.Time) clusterv1alpha1.AgentReport {
	counted.Time, counted.Started = metav1.NewTime(now).Rfc3339Copy(), counted.Started.Rfc3339Copy()
	switch {
	case reported != nil:
		counted.Restarts = reported.Restarts
	case found == nil:
	case found.Started.Equal(&counted.Started): // our own report, whose answer was lost
		counted.Restarts = found.Restarts
	default:
		counted.Restarts = found.Restarts + 1
	}
	return counted
}

// ReportDue returns whether the agent's own counters justify a write: always for the first report of a process;
// afterwards only if they changed, and rarely if only byte counts did.
func ReportDue(reported, next *clusterv1alpha1.AgentReport, every time.Duration) bool {
	if reported == nil {
		return true
	}
	since := next.Time.Sub(reported.Time.Time)
	switch {
	case since < 0: // the clock was set back
		return true
	case reported.NoLine != "" && next.NoLine == "": // people would look for a problem that is solved
		return true
	case since < every:
		return false
	case since < reportsPerTraffic*every:
		return !equality.Semantic.DeepEqual(withoutBytes(reported), withoutBytes(next))
	default:
		return true
	}
}

// withoutBytes returns a report without its time and its byte counts.
func withoutBytes(r *clusterv1alpha1.AgentReport) *clusterv1alpha1.AgentReport {
	out := r.DeepCopy()
	out.Time, out.SentBytes, out.ReceivedBytes = metav1.Time{}, 0, 0
	if out.Journal != nil {
		out.Journal.Bytes = 0
	}
	return out
}
