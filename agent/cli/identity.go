package cli

import (
	"context"
	"errors"
	"math/rand/v2"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/registration"
)

// identity returns the agent's credentials. With the address of a hub in args it joins first, which does nothing if
// the agent has joined already. OnRetire is taken from the flags with and without a hub.
func (f *runFlags) identity(ctx context.Context, args []string, member *rest.Config, secretStore *registration.SecretStore) (*registration.Credentials, error) {
	keep := registration.KeepOptions{
		StateDir: f.join.stateDir, Cluster: f.join.clusterName, Clock: clock.RealClock{}, Random: rand.Float64, SecretStore: secretStore,
	}
	if len(args) == 0 {
		if f.join.any() {
			return nil, errors.New("the address of the hub is missing; use the arguments that `hub token create` printed there, or none of them")
		}
		if err := f.join.validateOnRetire(); err != nil {
			return nil, err
		}
		keep.OnRetire = f.join.onRetire
		return registration.OpenCredentials(keep)
	}
	log := ctrl.LoggerFrom(ctx)
	options, err := f.join.options(args[0], f.member, member, func(step string) { log.Info("Joining the hub", "step", step) })
	if err != nil {
		return nil, err
	}
	if secretStore != nil {
		options.Begun = func(ctx context.Context) error { return secretStore.Save(ctx, options.StateDir) }
	}
	return registration.Start(ctx, options, f.join.secret, keep)
}
