package agents

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

const (
	// grace is how much longer than spec.agent.reportWithin a report may take: until the agent's guard has rolled it
	// back, and the previous agent is heard. An upgraded agent may be silent for as long, since lines are lost and come
	// back.
	grace = 2 * time.Minute
	// longest is the maximum of spec.agent.reportWithin.
	longest = 24 * time.Hour
)

// memberOf returns the state of one cluster.
func memberOf(in Input, c *clusterv1alpha1.Cluster) Member {
	out := Member{Name: c.Name, State: Held}
	wanted, report := c.Spec.Agent, c.Status.AgentUpgrade
	ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	silent := ready == nil || ready.Status == metav1.ConditionUnknown
	out.asked = wanted != nil && wanted.Image == in.Wanted.Image && wanted.Version == in.Wanted.Version && !in.Retry.Has(c.Name)
	if out.asked {
		out.attempt = wanted.Attempt
	}
	upgrading := report != nil && report.Phase == clusterv1alpha1.AgentUpgrading
	about := out.asked && report != nil && report.Image == wanted.Image && report.Attempt == wanted.Attempt
	if about && !upgrading {
		ended(in, &out, report)
		if silent && out.State == Upgraded {
			out.State, out.Message = Lost, "it was upgraded, and no heartbeat was received since; see its pods in its member"
			if ready != nil {
				out.silentSince = ready.LastTransitionTime.Time
			}
		}
		return out
	}
	if about {
		out.Message = report.Message
	}
	since, known := in.Asked[c.Name]
	switch {
	case silent && (!out.asked || !upgrading):
		out.State = Silent
	case out.asked && upgrading && !about && mayBeUnderWay(in, report):
		out.State, out.Ends, out.Message = InFlight, report.Image, "it ends its upgrade to "+report.Image+" first"
	case out.asked && known && in.Now.Sub(since) > reportTimeout(wanted)+grace:
		out.State, out.Message = Failed, noAnswer(out.Message, report, upgrading && !about)
	case out.asked:
		out.State = InFlight
	}
	return out
}

// ended handles an upgrade whose result the agent has reported.
func ended(in Input, out *Member, report *clusterv1alpha1.AgentUpgrade) {
	out.Message = report.Message
	switch report.Phase {
	case clusterv1alpha1.AgentUpgraded:
		out.State, out.since, out.backSince = Upgraded, upgradedSince(in, out.Name, report), in.Back[out.Name]
	case clusterv1alpha1.AgentRolledBack:
		out.State = Failed
	case clusterv1alpha1.AgentRefused, clusterv1alpha1.AgentNotInPod:
		out.State = ByHand
	case clusterv1alpha1.AgentUpgrading:
	}
}

// upgradedSince returns the time at which an agent finished its upgrade. The agent reports it by its own clock, so the
// time is bounded: an agent cannot prolong the soak time of its wave, nor, if the hub saw the upgrade in progress,
// shorten it.
func upgradedSince(in Input, name string, report *clusterv1alpha1.AgentUpgrade) time.Time {
	seen, known := in.Seen[name]
	if !known {
		seen = in.Now
	}
	_, watched := in.Asked[name]
	if since := report.Time.Time; !since.After(in.Now) && (!watched || !seen.After(since)) {
		return since
	}
	return seen
}

// mayBeUnderWay says whether an upgrade other than the wanted one may still be in progress: an agent that hangs reports
// nothing until its guard has rolled it back.
func mayBeUnderWay(in Input, report *clusterv1alpha1.AgentUpgrade) bool {
	age := in.Now.Sub(report.Time.Time) // by two different clocks
	return age > -grace && age <= longest+grace
}

func reportTimeout(wanted *clusterv1alpha1.WantedAgent) time.Duration {
	if wanted.ReportWithin == nil {
		return 5 * time.Minute
	}
	return wanted.ReportWithin.Duration
}

// noAnswer says what is to be thought of an agent that does not say what came of its upgrade.
func noAnswer(message string, report *clusterv1alpha1.AgentUpgrade, other bool) string {
	if other {
		return "its agent does not report the result of its upgrade to " + report.Image + ", and nothing of this one"
	}
	return strings.TrimSpace("its agent does not report the result; an agent of a version before upgrades from the hub never does, and must be upgraded by hand. " + message)
}
