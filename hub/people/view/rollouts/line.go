package rollouts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/people/view/applications"
)

// Named returns an application as an argument of commands: deployment/web.
func Named(t applications.Template) string { return strings.ToLower(t.Kind) + "/" + t.Name }

// Arguments returns an application as arguments of commands: deployment/web -n shop. The namespace is always included,
// since the reader's context may have another.
func Arguments(t applications.Template) string {
	if t.Namespace == "" {
		return Named(t)
	}
	return Named(t) + " -n " + t.Namespace
}

// Command returns a command about a rollout: `hub rollout VERB deployment/web -n shop`.
func Command(verb string, t applications.Template) string {
	return "hub rollout " + verb + " " + Arguments(t)
}

// line sums up a rollout:
//
//	deployment/web r5 (stable r4) wave 2/3 tenth: 28/29 healthy, 1 lost, 3 set aside, soak 3m of 10m
func (r *Rollout) line(now time.Time) string {
	if r.Revision == 0 {
		return r.Named() + ": there is no revision yet"
	}
	out := fmt.Sprintf("%s r%d", r.Named(), r.Revision)
	if r.Stable != r.Revision && r.Stable > 0 {
		out += fmt.Sprintf(" (stable r%d)", r.Stable)
	}
	i := slices.IndexFunc(r.Waves, func(w Wave) bool { return w.Name == r.Wave })
	counted := Sum(r.Waves)
	switch {
	case r.Done:
		out += " completed"
	case r.Immediately:
		out += " to all at once"
	case i >= 0:
		out += fmt.Sprintf(" wave %d/%d %s", i+1, len(r.Waves), r.Wave)
		counted = r.Waves[i]
	}
	out += ": " + counted.Counted()
	if i >= 0 && !r.Done && !r.Immediately {
		if w := r.Waves[i]; w.WellSince != nil && w.PassedAt == nil && w.Soak.Duration > 0 {
			out += ", soak " + w.well(now)
		}
	}
	return out + r.stopped()
}

// stopped returns a clause if a rollout does not go on by itself.
func (r *Rollout) stopped() string {
	switch r.Phase {
	case fairleadv1alpha1.RolloutHalted:
		return "; halted"
	case fairleadv1alpha1.RolloutPaused:
		return "; paused"
	case fairleadv1alpha1.RolloutWaiting:
		return "; waiting"
	default:
		return ""
	}
}

// reason returns the reason of the condition Progressing.
func reason(status *fairleadv1alpha1.StagedRolloutStatus) string {
	if c := meta.FindStatusCondition(status.Conditions, fairleadv1alpha1.RolloutConditionProgressing); c != nil {
		return c.Reason
	}
	return ""
}

// waitingFor says what the rollout waits for; empty if nothing.
func waitingFor(status *fairleadv1alpha1.StagedRolloutStatus) string {
	for _, kind := range []string{fairleadv1alpha1.RolloutConditionHalted, fairleadv1alpha1.RolloutConditionProgressing} {
		c := meta.FindStatusCondition(status.Conditions, kind)
		switch {
		case c == nil, kind == fairleadv1alpha1.RolloutConditionHalted && c.Status != "True":
		case c.Reason == fairleadv1alpha1.ReasonRolloutCompleted:
			return ""
		default:
			return c.Message
		}
	}
	return ""
}

// next says what a person can do now.
func next(r *Rollout, status *fairleadv1alpha1.StagedRolloutStatus) string {
	do := func(verb string) string { return "`" + Command(verb, r.Template) + "`" }
	switch {
	case r.Revision == 0:
		return ""
	case r.Paused:
		return do("resume") + " goes on; " + do("abort") + " takes it back."
	case FailedNoMore(status):
		return "The clusters that failed are healthy now: " + do("retry") + " goes on; " + do("abort") + " takes it back where it was sent."
	case r.Halted && len(names(r.Groups, fairleadv1alpha1.ClusterFailed)) == 0:
		return "It goes on by itself once the clusters that are lost are healthy again. " + do("abort") + " takes it back where it was sent."
	case r.Halted:
		return "Correct the template, which makes a new revision; or " + do("retry") + " retries the clusters that failed, " +
			do("abort") + " takes it back where it was sent."
	case WaitsForApproval(status) != "":
		// The revision keeps the command from approving a newer one than the reader saw.
		return fmt.Sprintf("`%s --revision %d` goes on; ", Command("approve", r.Template), r.Revision) + do("abort") + " takes it back."
	case reason(status) == fairleadv1alpha1.ReasonRolloutTooFewHeard:
		return "It goes on by itself once more clusters of the wave are heard from; " + do("skip") + " CLUSTER leaves one out."
	default:
		return ""
	}
}

// FailedNoMore says whether a rollout is still halted because of failed clusters although none fails any more: a person
// must let it go on.
func FailedNoMore(status *fairleadv1alpha1.StagedRolloutStatus) bool {
	c := meta.FindStatusCondition(status.Conditions, fairleadv1alpha1.RolloutConditionHalted)
	return c != nil && c.Status == "True" && c.Reason == fairleadv1alpha1.ReasonRolloutTooManyFailed &&
		len(revision.Names(status.Clusters, fairleadv1alpha1.ClusterFailed)) == 0
}

// WaitsForApproval returns the wave that waits for approval; empty if none does.
func WaitsForApproval(status *fairleadv1alpha1.StagedRolloutStatus) string {
	if status.Phase != fairleadv1alpha1.RolloutWaiting || reason(status) != fairleadv1alpha1.ReasonRolloutNeedsApproval {
		return ""
	}
	if status.Wave != "" {
		return status.Wave
	}
	for i := range status.Waves {
		if status.Waves[i].PassedAt == nil {
			return status.Waves[i].Name
		}
	}
	return ""
}
