package cli

import (
	"context"
	"errors"
	"math/rand/v2"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/registration/discovery"
)

// tokenRejected says whether a join failed because its token is of no use any more.
func tokenRejected(err error) bool {
	return errors.Is(err, registration.ErrDenied) || errors.Is(err, registration.ErrTokenRejected) || errors.Is(err, discovery.ErrTokenUnknown)
}

// identity returns what the agent runs with. With the address of a hub it joins, which is
// nothing to do for an agent that has.
func (f *runFlags) identity(ctx context.Context, args []string, member *rest.Config, secretStore *registration.SecretStore) (*registration.Credentials, error) {
	cluster := f.join.clusterName
	switch {
	case len(args) > 0:
		log := ctrl.LoggerFrom(ctx)
		options, err := f.join.options(args[0], f.member, member, func(step string) { log.Info("Joining the hub", "step", step) })
		if err != nil {
			return nil, err
		}
		options.KeepSuperseded = true
		if secretStore != nil {
			options.Begun = func(ctx context.Context) error { return secretStore.Save(ctx, options.StateDir) }
		}
		_, err = registration.Join(ctx, options)
		cluster = options.Cluster
		if tokenRejected(err) {
			// The arguments may be those of the first start, long ago. The hub may call this
			// agent back, or say that it has retired it.
			if _, missing := registration.Load(f.join.stateDir, cluster); missing == nil {
				log.Info("Going on with what this agent has from joining before", "reason", err.Error())
				err = nil
			}
		}
		if err != nil {
			return nil, err
		}
	case f.join.any():
		return nil, errors.New("the address of the hub is missing; use the arguments that `hub token create` printed there, or none of them")
	}
	return registration.OpenCredentials(registration.KeepOptions{
		StateDir: f.join.stateDir, Cluster: cluster, Clock: clock.RealClock{}, Random: rand.Float64, SecretStore: secretStore,
	})
}
