package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/logging"
)

// Values of --events.
const (
	eventsSummary = "summary"
	eventsAll     = "all"
)

// gcPercent makes the heap grow by half, not to the double, before garbage is collected:
// the agent is mostly idle, and memory on a small box is dearer than its time.
const gcPercent = 50

// runFlags say how to run.
type runFlags struct {
	member    memberFlags
	join      joinFlags
	options   setup.Options
	events    string
	logFormat string
	verbosity int
}

func (f *runFlags) add(flags *pflag.FlagSet) {
	f.member.add(flags)
	f.join.add(flags)
	flags.StringVar(&f.options.MetricsBindAddress, "metrics-bind-address", "0", "address that serves Prometheus metrics, such as :8080; 0 is none")
	flags.StringVar(&f.options.HealthProbeBindAddress, "health-probe-bind-address", "0", "address that serves /healthz and /readyz, such as :10357; 0 is none")
	flags.DurationVar(&f.options.StatusFrequency, "cluster-status-update-frequency", setup.DefaultStatusFrequency, "how often this cluster is asked how it is")
	flags.DurationVar(&f.options.LeaseDuration, "cluster-lease-duration", setup.DefaultLeaseDuration, "after how much silence the hub gives this agent up")
	flags.Float64Var(&f.options.LeaseRenewFraction, "cluster-lease-renew-interval-fraction", setup.DefaultLeaseRenewFraction, "after which part of the lease's duration it is renewed")
	flags.StringVar(&f.events, "events", eventsSummary, "which events to emit on the hub: summary (warnings), or all that clients of the API know")
	flags.StringVar(&f.logFormat, "log-format", logging.FormatText, "format of the log: text or json")
	flags.IntVarP(&f.verbosity, "verbosity", "v", 0, "how much to log: 0 what changed, 1 details")
}

func newRun(env environment) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [HOST:PORT --token TOKEN --discovery-token-ca-cert-hash HASH --cluster-name NAME]",
		Short: "Run the agent",
		Long: "Run the agent of this cluster. With the arguments of `agent join` it joins first, unless it has; without, it\n" +
			"runs with what `agent join` left in the state directory.",
		Args: oneHub,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	f.add(cmd.Flags())
	return cmd
}

func (f *runFlags) run(ctx context.Context, env environment, args []string) error {
	if f.events != eventsSummary && f.events != eventsAll {
		return fmt.Errorf("--events is %q; it is %s or %s", f.events, eventsSummary, eventsAll)
	}
	log, err := logging.New(env.problems, f.logFormat, f.verbosity)
	if err != nil {
		return err
	}
	env.setLogger(log)
	ctx = ctrl.LoggerInto(ctx, log)
	debug.SetGCPercent(gcPercent)

	o := f.options
	o.AllEvents = f.events == eventsAll
	o.Interpreter = native.New()
	o.Clock = clock.RealClock{}
	if o.Member, err = f.member.config(); err != nil {
		return err
	}
	if o.Hub, err = f.identity(ctx, args, o.Member); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // Told to stop while joining.
		}
		return err
	}
	if o.Cluster, err = clusterOf(o.Hub); err != nil {
		return err
	}
	return setup.Run(ctx, o)
}

// identity returns what the agent runs with. With the address of a hub it joins, which is
// nothing to do for an agent that has.
func (f *runFlags) identity(ctx context.Context, args []string, member *rest.Config) (*rest.Config, error) {
	if len(args) == 0 {
		if f.join.any() {
			return nil, errors.New("the address of the hub is missing; use the arguments that `hub token create` printed there, or none of them")
		}
		return registration.Load(f.join.stateDir, f.join.clusterName)
	}
	log := ctrl.LoggerFrom(ctx)
	options, err := f.join.options(args[0], f.member, member, func(step string) { log.Info("Joining the hub", "step", step) })
	if err != nil {
		return nil, err
	}
	return registration.Join(ctx, options)
}
