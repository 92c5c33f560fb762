package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/upgrade/plan"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/prose"
)

const (
	// defaultReportWithin applies if the Cluster was written without the API's defaults.
	defaultReportWithin = 5 * time.Minute
	// shortestWait is the minimum delay before the guard is told again that the hub hears this agent.
	shortestWait = 5 * time.Second
	// longestWait is how long after the agent's start it is tried that often.
	longestWait = 15 * time.Minute
	// mostImage and mostMessage bound the values in the status, in bytes.
	mostImage   = 512
	mostMessage = 1024
)

// Self describes how this agent runs.
type Self struct {
	// Deployment runs this agent and has a guard, as NAMESPACE/NAME; empty if the agent may not be upgraded, or does
	// not run in a pod.
	Deployment string
	// InPod says that the agent runs in a pod.
	InPod bool
	// Start identifies the upgrade that started this Deployment's pods; empty if it was never upgraded.
	Start string
	// Program is the path of the program, and Versions are the tags that its version matches.
	Program  string
	Versions []string
}

// Requester requests the upgrades of one agent.
type Requester struct {
	self      Self
	heard     func() bool
	clock     clock.Clock
	started   time.Time
	installed *installed // nil if the agent may not be upgraded

	// proves is how long this agent has to run before the guard is told that the hub has heard it; nil if that is not
	// known yet.
	proves *time.Duration
	// marked says that the guard has been told that the hub has heard this start.
	marked bool
	// settled is the last status that needs no further requests.
	settled *clusterv1alpha1.AgentUpgrade
	// withdrawn says that no request is left for the guard, since the hub wants no upgrade.
	withdrawn bool
}

// NewRequester returns the Requester of an agent. heard returns whether the hub hears the agent now.
func NewRequester(member *rest.Config, self Self, heard func() bool, c clock.Clock) (*Requester, error) {
	r := &Requester{self: self, heard: heard, clock: c, started: c.Now()}
	if self.Deployment == "" {
		return r, nil
	}
	var err error
	r.installed, err = openInstalled(member, self.Deployment)
	return r, err
}

// Upgrade requests the wanted upgrade and returns its status so far; nil if none is wanted. before is the status that
// the hub has. It is called repeatedly, but never concurrently.
func (r *Requester) Upgrade(ctx context.Context, wanted *clusterv1alpha1.WantedAgent, before *clusterv1alpha1.AgentUpgrade) *clusterv1alpha1.AgentUpgrade {
	if err := r.mark(ctx); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not tell the guard of the upgrade that the hub receives heartbeats of this agent; the agent tries again")
	}
	if wanted == nil {
		r.settled = nil
		r.withdraw(ctx)
		return nil
	}
	r.withdrawn = false
	if r.settled != nil && r.settled.Image == wanted.Image && r.settled.Attempt == wanted.Attempt {
		return r.settled
	}
	r.settled = nil
	next := &clusterv1alpha1.AgentUpgrade{Image: wanted.Image, Attempt: wanted.Attempt, Phase: clusterv1alpha1.AgentUpgrading}
	if before != nil && before.Image == next.Image && before.Attempt == next.Attempt {
		next.Time = before.Time
	}
	done, err := r.fill(ctx, wanted, next)
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		next.Phase = clusterv1alpha1.AgentRefused
		next.Message = "the agent cannot upgrade itself the way it is installed: " + err.Error() + "; `agent join --install --upgrade-images REPOSITORY` in the member fixes that"
	case err != nil:
		ctrl.LoggerFrom(ctx).Error(err, "Requesting the upgrade failed; the agent tries again")
		return before
	}
	next.Message = prose.Cut(next.Message, mostMessage)
	if before == nil || before.Phase != next.Phase || next.Time.IsZero() {
		next.Time = metav1.NewTime(r.clock.Now()).Rfc3339Copy()
	}
	if done {
		r.settled = next
	}
	return next
}

// mark tells the guard that the hub has heard this start of the agent, once the agent has run long enough.
func (r *Requester) mark(ctx context.Context) error {
	if r.marked || r.installed == nil || r.self.Start == "" || !r.heard() {
		return nil
	}
	if r.proves == nil {
		_, _, record, err := r.installed.deployment(ctx)
		if err != nil {
			return err
		}
		r.proves = new(plan.ProvesAfter(record, r.self.Start))
	}
	if r.clock.Since(r.started) < *r.proves {
		return nil
	}
	if err := r.installed.tell(ctx, reportedKey, r.self.Start); err != nil {
		return err
	}
	r.marked = true
	return nil
}

// Due returns the delay after which Upgrade has to be called again at the latest, because the guard waits to be told
// that the hub hears this agent; 0 if there is no deadline.
func (r *Requester) Due() time.Duration {
	runs := r.clock.Since(r.started)
	switch {
	case r.marked || r.installed == nil || r.self.Start == "" || runs > longestWait:
		return 0
	case r.proves == nil:
		return shortestWait // the hub has not heard this agent yet
	}
	return max(shortestWait, *r.proves-runs)
}

// withdraw removes the request from the ConfigMap if the hub no longer wants an upgrade and the guard has not begun.
func (r *Requester) withdraw(ctx context.Context) {
	if r.withdrawn || r.installed == nil {
		return
	}
	err := r.takeBack(ctx, nil)
	if err != nil && !apierrors.IsForbidden(err) { // an agent that may not read the request cannot have written it
		ctrl.LoggerFrom(ctx).Error(err, "Could not withdraw the request to the guard of the upgrade; the agent tries again")
		return
	}
	r.withdrawn = true
}

// takeBack removes a request other than the wanted upgrade: a guard that could not run before would act on it days
// later.
func (r *Requester) takeBack(ctx context.Context, wanted *clusterv1alpha1.WantedAgent) error {
	asked, _, err := r.installed.asked(ctx)
	if err != nil || asked == nil || wanted != nil && asked.Image == wanted.Image && asked.Attempt == wanted.Attempt {
		return err
	}
	return r.installed.tell(ctx, requestKey, "")
}

// fill completes the status of an upgrade, and returns whether it is final.
func (r *Requester) fill(ctx context.Context, wanted *clusterv1alpha1.WantedAgent, next *clusterv1alpha1.AgentUpgrade) (done bool, err error) {
	switch {
	case !r.self.InPod:
		r.asProcess(wanted, next)
		return true, nil
	case r.installed == nil:
		next.Phase = clusterv1alpha1.AgentRefused
		next.Message = "the owner of the member does not let the hub upgrade the agent; `agent join --install --upgrade-images` there allows a repository"
		return true, nil
	}
	_, image, record, err := r.installed.deployment(ctx)
	if err != nil {
		return false, err
	}
	next.Running = image[:min(len(image), mostImage)]
	underWay := record != nil && record.Phase == clusterv1alpha1.AgentUpgrading
	switch {
	case record.About(wanted.Image, wanted.Attempt):
		next.Phase, next.Message = record.Phase, record.Message
		if record.Phase == clusterv1alpha1.AgentUpgraded && image != wanted.Image {
			next.Phase = clusterv1alpha1.AgentRolledBack
			next.Message = "it was upgraded; later somebody in the member changed the image to " + image
		}
	case image == wanted.Image && !underWay:
		next.Phase, next.Message = clusterv1alpha1.AgentUpgraded, "it ran already"
	case record.After(wanted.Attempt):
		next.Phase, next.Message = clusterv1alpha1.AgentRefused, earlier(wanted, record)
	default:
		return false, r.ask(ctx, wanted, next)
	}
	if err := r.takeBack(ctx, wanted); err != nil {
		return false, err
	}
	if underWay { // somebody may have scaled the guard down
		return false, r.installed.wake(ctx)
	}
	return true, nil
}

// earlier returns the advice for a hub that requests an attempt older than the last upgrade.
func earlier(wanted *clusterv1alpha1.WantedAgent, last *plan.Record) string {
	return fmt.Sprintf("the hub requests what it requested before the last upgrade here, to %s, as a hub does that was restored from a backup: spec.agent.attempt is %d, "+
		"and it was %d for that upgrade; run `hub upgrade agents` again, with --retry if it is for this image. Older hubs count from 0: after one of these, run "+
		"`kubectl patch cluster NAME --type merge -p '{\"spec\":{\"agent\":{\"attempt\":%d}}}'`", last.Image, wanted.Attempt, last.Attempt, last.Attempt+1)
}

// ask requests the upgrade and wakes the guard.
func (r *Requester) ask(ctx context.Context, wanted *clusterv1alpha1.WantedAgent, next *clusterv1alpha1.AgentUpgrade) error {
	want := plan.Request{Image: wanted.Image, Attempt: wanted.Attempt, ReportWithin: defaultReportWithin}
	if wanted.ReportWithin != nil && wanted.ReportWithin.Duration > 0 {
		want.ReportWithin = wanted.ReportWithin.Duration
	}
	asked, _, err := r.installed.asked(ctx)
	if err != nil {
		return err
	}
	if asked == nil || *asked != want {
		text, err := json.Marshal(want)
		if err != nil {
			return fmt.Errorf("encoding what is asked of the guard: %w", err)
		}
		if err := r.installed.tell(ctx, requestKey, string(text)); err != nil {
			return err
		}
	}
	next.Message = "waiting for the guard of the upgrade, Deployment " + r.installed.guard.String()
	if !next.Time.IsZero() && r.clock.Since(next.Time.Time) > want.ReportWithin {
		next.Message += ", which has not begun; `kubectl describe` it in the member"
	}
	return r.installed.wake(ctx)
}

// asProcess fills in the advice for an agent that does not run in a Deployment.
func (r *Requester) asProcess(wanted *clusterv1alpha1.WantedAgent, next *clusterv1alpha1.AgentUpgrade) {
	version := wanted.Version
	if version == "" {
		image, _, _ := strings.Cut(wanted.Image, "@")
		version = strings.TrimPrefix(strings.TrimPrefix(image, plan.Repository(image)), ":")
	}
	if version != "" && slices.Contains(r.self.Versions, version) {
		next.Phase, next.Message = clusterv1alpha1.AgentUpgraded, "its program is of version "+version
		return
	}
	next.Phase = clusterv1alpha1.AgentNotInPod
	next.Message = "it runs as a process, of version " + strings.Join(r.self.Versions[:min(1, len(r.self.Versions))], "") +
		", from " + r.self.Program + ", which its owner replaces"
}
