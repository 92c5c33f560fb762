package upgrade

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/upgrade/plan"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// lookEvery is the interval at which a running guard acts.
const lookEvery = time.Second

// GuardOptions configure a guard.
type GuardOptions struct {
	// Member reaches the member.
	Member *rest.Config
	// Deployment is the agent's, as NAMESPACE/NAME.
	Deployment string
	// Images are the repositories from which images may come, see plan.Allows.
	Images []string
	Clock  clock.Clock
}

// Guard performs the upgrades that the agent requests, and rolls back those that do not prove themselves, until the
// context ends, which is no error. When there is nothing to do it scales its own Deployment to zero.
func Guard(ctx context.Context, o GuardOptions) error {
	if o.Member == nil || o.Clock == nil || len(o.Images) == 0 {
		return errors.New("guarding an agent: the member, a clock and --images are required")
	}
	i, err := openInstalled(o.Member, o.Deployment)
	if err != nil {
		return err
	}
	log, failing := ctrl.LoggerFrom(ctx), false
	for {
		err := i.guardOnce(ctx, o)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // Told to stop.
		case err != nil && !failing:
			log.Error(err, "Guarding the upgrade failed; the guard tries again")
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-o.Clock.After(lookEvery):
		}
	}
}

// guardOnce performs one step: read, decide, write.
func (i *installed) guardOnce(ctx context.Context, o GuardOptions) error {
	d, image, record, err := i.deployment(ctx)
	if err != nil {
		return err
	}
	in := plan.Input{Record: record, Image: image, Allowed: o.Images, Now: o.Clock.Now()}
	if in.Request, in.Reported, err = i.asked(ctx); err != nil {
		return err
	}
	if record != nil && !in.Now.Before(record.Deadline) {
		in.Trouble = i.podProblem(ctx, d)
	}
	step := plan.Decide(in)
	switch {
	case step.Record != nil:
		if err := i.change(ctx, d, step); err != nil {
			return err
		}
		ctrl.LoggerFrom(ctx).Info("Upgrading the agent", "image", step.Record.Image, "phase", step.Record.Phase, "reason", step.Record.Message)
	case step.Done:
		proved := ""
		if record != nil && record.Phase == clusterv1alpha1.AgentUpgraded && record.Image == image {
			proved = image
		}
		return i.sleep(ctx, proved)
	}
	return nil
}
