package registration

import (
	"cmp"
	"context"
	"errors"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/registration/discovery"
)

// joinedTries bounds how long a starting agent that has joined before tries to join again: the work in its member
// waits meanwhile, and the agent keeps trying while it runs.
const joinedTries = 30 * time.Second

// Start returns the credentials of an agent whose arguments may be those of its first start: it joins, unless it has
// joined before. If it cannot, it uses the saved credentials for the hub of the arguments, since token and hub may be
// gone and it can work from its journal. The token is tried again when the hub refuses the saved credentials.
func Start(ctx context.Context, o Options, token func() (string, error), keep KeepOptions) (*Credentials, error) {
	o.KeepSuperseded = true
	before := joinedBefore(o)
	if before {
		o.Deadline = min(cmp.Or(o.Deadline, DefaultDeadline), joinedTries)
	}
	var err error
	if o.Token, err = token(); err == nil {
		_, err = Join(ctx, o)
	}
	if err != nil {
		switch {
		case ctx.Err() != nil:
			return nil, err
		case tokenRejected(err):
			// The hub may have a rejoin token for this agent, or state that it has retired it.
			if _, missing := Load(o.StateDir, o.Cluster); missing != nil {
				return nil, err
			}
		case before:
			keep.token = o.Token
		default:
			return nil, err
		}
		ctrl.LoggerFrom(ctx).Info("Using the credentials of an earlier join, because the given arguments cannot be used now", "reason", err.Error())
	}
	keep.StateDir, keep.Cluster, keep.OnRetire = o.StateDir, o.Cluster, o.OnRetire
	return OpenCredentials(keep)
}

// joinedBefore returns whether the state directory has credentials for the cluster and the hub of the arguments,
// whatever the token.
func joinedBefore(o Options) bool {
	parameters, err := discovery.ParseHub(o.Flags)
	return err == nil && state{dir: o.StateDir}.credentialsOf(parameters) != nil
}

// tokenRejected returns whether a join failed because its token can no longer be used.
func tokenRejected(err error) bool {
	return errors.Is(err, ErrDenied) || errors.Is(err, ErrTokenRejected) || errors.Is(err, discovery.ErrTokenUnknown)
}
