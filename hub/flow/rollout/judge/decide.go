package judge

import (
	"cmp"
	"time"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
)

// Grace is how long a cluster may be unhealthy after it was healthy.
const Grace = time.Minute

// RetryGrace is how long the refusal of a member is not believed after a person asked for another try.
// An agent tries what is refused again after a minute at the most, so that within two it has tried, and
// has said what came of it.
const RetryGrace = 2 * time.Minute

// Input is one cluster that was, or is being, sent a revision.
type Input struct {
	Now time.Time
	// Wanted is the revision, and Stable the one that passed every wave last, which may be the same; none if there is none.
	Wanted, Stable revision.ID
	Work           Work
	// Before and Reason are what the last verdict about this very revision was; empty if there is none.
	Before fairleadv1alpha1.ClusterState
	Reason string
	// Silent says that nothing is heard of the cluster, Unconfirmed that this is not believed.
	Silent, Unconfirmed bool
	// Suspended says that nothing is dispatched to it by the will of a person.
	Suspended bool
	// Proven says that the wave of the cluster has passed: to be silent and healthy is no loss then.
	Proven bool
	// Deadline is how long it may take, while heard from.
	Deadline time.Duration
	Progress Progress
}

// Verdict is how a cluster is: InFlight, Healthy, Failed, Lost, or SetAside if it was not sent the
// revision and is not to be, or is suspended.
type Verdict struct {
	State    fairleadv1alpha1.ClusterState
	Reason   string
	Progress Progress
	// Again is when time alone may change the verdict; 0 is never.
	Again time.Duration
}

// Has says whether a Work has the content of a revision, by whatever number.
func Has(work Work, id revision.ID) bool {
	return work.Exists && !id.Zero() && work.Revision.Hash == id.Hash
}

// Unchanged says whether a revision changes nothing where a Work is, so that there is nothing to wait for: what is there is as it
// was, or the content of the stable revision, which is another one. Any other content that a Work has by an older number may be
// what failed there, or what has cut the cluster off, and is judged as if it had just been sent.
func Unchanged(work Work, id, stable revision.ID) bool {
	return Has(work, id) && (work.Unchanged || Has(work, stable) && work.Revision.Number != id.Number && stable.Number != id.Number)
}

// Well says whether the agent says so, of the very generation that the Work has.
func (r Report) Well() bool { return r.Current && r.Applied && r.Health == Healthy }

// Decide says how the cluster fares.
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
		return in.is(in.Before, in.Reason) // until it is healthy, or a person asks for another try
	case in.wasHealthy():
		return in.afterHealthy()
	default:
		return in.onItsWay()
	}
}

// is returns a verdict for which no time runs.
func (in Input) is(state fairleadv1alpha1.ClusterState, reason string) Verdict {
	progress := Progress{Revision: in.Wanted.Number, Elapsed: in.Progress.Elapsed}
	if state == fairleadv1alpha1.ClusterHealthy {
		progress.Elapsed = 0
	}
	return Verdict{State: state, Reason: reason, Progress: progress}
}

// silent is about a cluster of which nothing is heard: what it was sent may be what cut it off.
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

// behind says that what it has is older than the stable revision and was not sent with this one: it was silent or left out before, and
// has proven nothing since.
func (in Input) behind() bool {
	had := in.Work.Revision.Number
	return had != in.Wanted.Number && had <= in.Stable.Number && in.Before != fairleadv1alpha1.ClusterHealthy
}

func (in Input) wasHealthy() bool {
	return Has(in.Work, in.Wanted) && (in.Before == fairleadv1alpha1.ClusterHealthy ||
		in.Before == fairleadv1alpha1.ClusterInFlight && in.Reason == fairleadv1alpha1.ClusterReasonUnhealthy)
}

// afterHealthy is about a cluster that was healthy with the revision. A Work that is scaled has a
// new generation: until that is reported the cluster is as it was.
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

// onItsWay is about a cluster that was not healthy with the revision yet. One that was lost counts
// as lost until it is.
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

// elapse lets the time run that a cluster has.
func (in Input) elapse() Verdict {
	progress := in.Progress
	if !progress.At.IsZero() {
		progress.Elapsed += max(in.Now.Sub(progress.At), 0)
	}
	progress.At = in.Now
	if in.Unconfirmed { // The hub suspects itself: its clock for others stands still.
		progress.Elapsed, progress.At = in.Progress.Elapsed, time.Time{}
	}
	left := in.Deadline - progress.Elapsed
	if left <= 0 {
		return in.is(fairleadv1alpha1.ClusterFailed, fairleadv1alpha1.ClusterReasonDeadline)
	}
	return Verdict{State: fairleadv1alpha1.ClusterInFlight, Progress: progress, Again: left}
}
