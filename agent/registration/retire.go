package registration

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/util/wait"

	ctrl "sigs.k8s.io/controller-runtime"
)

// OnRetire returns the choice made at the join: Keep or Remove the objects if the hub forgets the member.
func (c *Credentials) OnRetire() string {
	if c.who.OnRetire == Remove {
		return Remove
	}
	return Keep
}

// Retire records that the hub forgot this member, so that a restarted agent does not go on as if nothing had
// happened.
func (c *Credentials) Retire(ctx context.Context, retired *RetiredError) error {
	if err := c.state.writeJSON(retiredFile, retired); err != nil || c.secretStore == nil {
		return err
	}
	return c.secretStore.Save(ctx, c.state.dir)
}

// Reinstated blocks, if the hub had forgotten this member, until the hub accepts it again. It returns a RetiredError
// if the hub still says that the member is forgotten.
func (c *Credentials) Reinstated(ctx context.Context) error {
	raw, err := c.state.read(retiredFile)
	if raw == nil || err != nil {
		return err
	}
	reported := ""
	for {
		is, retired, err := c.ask(ctx)
		reason := "the hub gives it no rights"
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // Told to stop.
		case is == gone:
			return retired
		case err != nil:
			reason = err.Error()
		case is == known:
			return c.state.remove(retiredFile)
		default:
			// A hub restored from a backup does not know that it retired this cluster, and may have a rejoin token
			// for its agent.
			switch rejoined := c.rejoin(ctx); {
			case rejoined == nil:
				continue
			case errors.Is(rejoined, ErrJoinedAgain):
				return rejoined
			case !errors.Is(rejoined, errNoCall):
				reason = rejoined.Error()
			}
		}
		if reason != reported {
			reported = reason
			ctrl.LoggerFrom(ctx).Info("The hub had retired this cluster; waiting for its answer now", "Cluster", c.who.Cluster, "reason", reason)
		}
		select {
		case <-ctx.Done():
		case <-c.clock.After(wait.Jitter(callEvery, 0.5)):
		}
	}
}
