package judge

import (
	"cmp"
	"time"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
)

// Grace is how long a cluster may be unhealthy after it was healthy.
const Grace = time.Minute

// RetryGrace is how long a member's refusal is ignored after a person requested a retry. An agent retries what was rejected within a
// minute, so that within two it has retried and reported the result.
const RetryGrace = 2 * time.Minute

// Input is one cluster that was, or is being, sent a revision.
type Input struct {
	Now time.Time
	// Wanted is the revision, and Stable the last one that passed every wave, which may be the same; zero if there is none.
	Wanted, Stable revision.ID
	Work           Work
	// Before and Reason are the last verdict on this revision; empty if there is none.
	Before fairleadv1alpha1.ClusterState
	Reason string
	// Silent says that the cluster is silent, Unconfirmed that its silence is not believed yet.
	Silent, Unconfirmed bool
	// Suspended says that a person suspended dispatching to it.
	Suspended bool
	// Proven says that the wave of the cluster has passed: a cluster that was healthy is then not lost when it falls silent.
	Proven bool
	// Deadline is how long it may take to become healthy while it is heard from.
	Deadline time.Duration
	Progress Progress
}

// Verdict is the state of a cluster: InFlight, Healthy, Failed, Lost, or SetAside if it was not sent the revision and will not be, or is
// suspended.
type Verdict struct {
	State    fairleadv1alpha1.ClusterState
	Reason   string
	Progress Progress
	// Again is after how long time alone may change the verdict; 0 means never.
	Again time.Duration
}

// Has returns whether a Work has the content of a revision, whatever its number.
func Has(work Work, id revision.ID) bool {
	return work.Exists && !id.Zero() && work.Revision.Hash == id.Hash
}

// Unchanged returns whether a revision changes nothing in the cluster of a Work, so that there is nothing to wait for: the Work already had
// the content, or has it by another number as that of the stable revision. Other content with an older number may be what failed there, or
// what cut the cluster off, and is judged as if it had just been sent.
func Unchanged(work Work, id, stable revision.ID) bool {
	return Has(work, id) && (work.Unchanged || Has(work, stable) && work.Revision.Number != id.Number && stable.Number != id.Number)
}

// Well returns whether the agent reports the current generation of the Work as applied and healthy.
func (r Report) Well() bool { return r.Current && r.Applied && r.Health == Healthy }

// Decide returns the verdict on a cluster.
func Decide(in Input) Verdict {
	if in.Progress.Revision != in.Wanted.Number {
		in.Progress = Progress{Revision: in.Wanted.Number}
	}
	if at := in.Progress.SilentAt; !in.Silent && !at.IsZero() {
		in.Progress.UnhealthySince, in.Progress.SilentAt = in.Progress.UnhealthySince.Add(max(in.Now.Sub(at), 0)), time.Time{}
	}
	healthy := Has(in.Work, in.Wanted) && in.Work.Report.Well()
	switch {
	case Unchanged(in.Work, in.Wanted, in.Stable):
		return in.is(fairleadv1alpha1.ClusterHealthy, fairleadv1alpha1.ClusterReasonUnchanged)
	case in.Silent:
		return in.silent()
	case healthy:
		return in.is(fairleadv1alpha1.ClusterHealthy, "")
	case in.Suspended && in.Before != fairleadv1alpha1.ClusterHealthy && in.Before != fairleadv1alpha1.ClusterFailed:
		return in.is(fairleadv1alpha1.ClusterSetAside, fairleadv1alpha1.ClusterReasonSuspended)
	case in.Before == fairleadv1alpha1.ClusterFailed:
		return in.is(in.Before, in.Reason) // until it is healthy, or a person requests a retry
	case in.wasHealthy():
		return in.afterHealthy()
	default:
		return in.onItsWay()
	}
}

// is returns a verdict that time alone does not change.
func (in Input) is(state fairleadv1alpha1.ClusterState, reason string) Verdict {
	progress := Progress{Revision: in.Wanted.Number, Elapsed: in.Progress.Elapsed}
	if state == fairleadv1alpha1.ClusterHealthy {
		progress.Elapsed = 0
	}
	return Verdict{State: state, Reason: reason, Progress: progress}
}

// silent returns the verdict on a silent cluster: the revision that it was sent may be what cut it off.
func (in Input) silent() Verdict {
	sent := Has(in.Work, in.Wanted) && !in.behind()
	switch {
	case in.Before == fairleadv1alpha1.ClusterFailed, in.Before == fairleadv1alpha1.ClusterLost && in.Unconfirmed,
		sent && in.Before == fairleadv1alpha1.ClusterHealthy && (in.Proven || in.Unconfirmed):
		return in.is(in.Before, in.Reason)
	case in.Unconfirmed:
		v := in.is(fairleadv1alpha1.ClusterInFlight, in.Reason)
		if since := in.Progress.UnhealthySince; !since.IsZero() {
			v.Progress.UnhealthySince, v.Progress.SilentAt = since, cmp.Or(in.Progress.SilentAt, in.Now)
		}
		return v
	case sent, in.Before == fairleadv1alpha1.ClusterLost:
		return in.is(fairleadv1alpha1.ClusterLost, fairleadv1alpha1.ClusterReasonSilent)
	default:
		return in.is(fairleadv1alpha1.ClusterSetAside, fairleadv1alpha1.ClusterReasonSilent)
	}
}

// behind returns whether the cluster's revision is not newer than the stable one, and was not sent as the wanted one: the cluster was
// silent or skipped before, and its silence proves nothing.
func (in Input) behind() bool {
	had := in.Work.Revision.Number
	return had != in.Wanted.Number && had <= in.Stable.Number && in.Before != fairleadv1alpha1.ClusterHealthy
}

func (in Input) wasHealthy() bool {
	return Has(in.Work, in.Wanted) && (in.Before == fairleadv1alpha1.ClusterHealthy ||
		in.Before == fairleadv1alpha1.ClusterInFlight && in.Reason == fairleadv1alpha1.ClusterReasonUnhealthy)
}

// afterHealthy returns the verdict on a cluster that was healthy with the revision. Scaling gives the Work a new generation; until it is
// reported, the state stays the same.
func (in Input) afterHealthy() Verdict {
	report := in.Work.Report
	if !report.Current || report.Applied && report.Health == Unknown {
		v := in.elapse()
		if v.State != fairleadv1alpha1.ClusterFailed {
			v.State, v.Reason = in.Before, in.Reason
		}
		v.Progress.UnhealthySince = in.Progress.UnhealthySince
		return v
	}
	progress := in.Progress
	if progress.UnhealthySince.IsZero() {
		progress.UnhealthySince = in.Now
	}
	left := Grace - in.Now.Sub(progress.UnhealthySince)
	if left <= 0 {
		return in.is(fairleadv1alpha1.ClusterFailed, fairleadv1alpha1.ClusterReasonUnhealthy)
	}
	return Verdict{State: fairleadv1alpha1.ClusterInFlight, Reason: fairleadv1alpha1.ClusterReasonUnhealthy, Progress: progress, Again: left}
}

// onItsWay returns the verdict on a cluster that was not healthy with the revision yet. One that was lost stays lost until it is healthy.
func (in Input) onItsWay() Verdict {
	left := RetryGrace - in.Now.Sub(in.Progress.RetriedAt)
	if in.Work.Report.Current && in.Work.Report.Refused && Has(in.Work, in.Wanted) && left <= 0 {
		return in.is(fairleadv1alpha1.ClusterFailed, fairleadv1alpha1.ClusterReasonRefused)
	}
	v := in.elapse()
	if v.State == fairleadv1alpha1.ClusterInFlight && in.Before == fairleadv1alpha1.ClusterLost {
		v.State = in.Before
	}
	if left > 0 {
		v.Again = min(v.Again, left)
	}
	return v
}

// elapse adds the time since the last verdict to what counts against the deadline.
func (in Input) elapse() Verdict {
	progress := in.Progress
	if !progress.At.IsZero() {
		progress.Elapsed += max(in.Now.Sub(progress.At), 0)
	}
	progress.At = in.Now
	if in.Unconfirmed { // time does not count while the hub suspects its own network
		progress.Elapsed, progress.At = in.Progress.Elapsed, time.Time{}
	}
	left := in.Deadline - progress.Elapsed
	if left <= 0 {
		return in.is(fairleadv1alpha1.ClusterFailed, fairleadv1alpha1.ClusterReasonDeadline)
	}
	return Verdict{State: fairleadv1alpha1.ClusterInFlight, Progress: progress, Again: left}
}
