package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/common/interpreter/store"
)

// join joins and opens the credentials that the join wrote to the state directory.
func join(ctx context.Context, options registration.Options) (*registration.Credentials, error) {
	if _, err := registration.Join(ctx, options); err != nil {
		return nil, err
	}
	return registration.OpenCredentials(registration.KeepOptions{
		StateDir: options.StateDir, Cluster: options.Cluster, Clock: clock.RealClock{}, Random: rand.Float64,
	})
}

// joinHere joins, and runs the agent in this process until the hub reports the cluster Ready.
func (f *joinCommand) joinHere(ctx context.Context, options registration.Options, tell func(string)) error {
	locked, err := registration.Lock(options.StateDir)
	if err != nil {
		return err
	}
	defer locked.Close() //nolint:errcheck // the process ends
	o := setup.Options{
		Member: options.Member, Cluster: options.Cluster, StateDir: options.StateDir, Account: f.join.account, NoWebhooks: !f.webhooks,
		Clock: clock.RealClock{}, StatusFrequency: setup.DefaultStatusFrequency,
		LeaseDuration: setup.DefaultLeaseDuration, LeaseRenewFraction: setup.DefaultLeaseRenewFraction,
	}
	if o.JournalSecret, err = journalSecret(f.journalKey); err != nil {
		return err
	}
	if err := checkRecord(ctx, o); err != nil {
		return err
	}
	credentials, err := join(ctx, options)
	if err != nil {
		return err
	}
	o.Hub, o.Cluster = credentials.Config(), credentials.Cluster()
	if o.Interpreter, err = store.BuiltIn(vm.Options{}); err != nil {
		return err
	}
	heard := credentials.LastHeard(ctx)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- serve(running, credentials, o) }()
	waiting, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	err = credentials.AwaitReady(waiting, heard, tell)
	stop()
	if err = errors.Join(err, <-ended); err != nil {
		return err
	}
	if f.operators.given() {
		if err := f.admitOperators(ctx, options.Member, tell); err != nil {
			return err
		}
	}
	tell(fmt.Sprintf("Now run the agent, and keep it running:\n\n  agent run%s --state-dir %s%s\n\n`agent join --print systemd` prints a unit that does.",
		f.member.typed(), options.StateDir, f.typed()))
	return nil
}

// typed returns the flags that `agent run` needs besides --state-dir.
func (f *joinCommand) typed() string {
	out := f.join.typed()
	if f.journalKey != "" {
		out += " --journal-key-file " + f.journalKey
	}
	if !f.webhooks {
		out += " --interpreter-webhooks=false"
	}
	return out
}

// admitOperators admits operators, for an agent that runs as a process.
func (f *joinCommand) admitOperators(ctx context.Context, member *rest.Config, tell func(string)) error {
	wanted, err := f.operators.rules()
	if err != nil {
		return err
	}
	installer, err := newInstaller(member)
	if err != nil {
		return err
	}
	return admitOperators(ctx, installer, wanted, tell)
}
