package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
	"fairlead.dev/agent/upgrade"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/common/logging"
	"fairlead.dev/common/memory"
	"fairlead.dev/common/version"
)

// Values of --events.
const (
	eventsSummary = "summary"
	eventsAll     = "all"
)

// gcPercent lets the heap grow by half rather than to the double between collections: the agent is mostly idle, and
// memory on a small machine is scarcer than CPU time. $GOGC takes precedence.
const gcPercent = 50

// podVariable is set by Kubernetes in every container.
const podVariable = "KUBERNETES_SERVICE_HOST"

// minJournalSecret is the minimum length of the secret that seals the journal, in bytes.
const minJournalSecret = 16

// runFlags configure `agent run`.
type runFlags struct {
	// webhooks says whether to call the hub's interpreter webhooks.
	webhooks    bool
	member      memberFlags
	join        joinFlags
	options     setup.Options
	events      string
	journalKey  string
	secret      string
	memoryLimit string
	logFormat   string
	verbosity   int
	deployment  string
	// line says whether to keep a line to the hub open.
	line bool
}

func (f *runFlags) add(flags *pflag.FlagSet) {
	f.member.add(flags)
	f.join.add(flags)
	flags.StringVar(&f.options.MetricsBindAddress, "metrics-bind-address", "0", "address that serves Prometheus metrics, such as :8080; 0 is none")
	flags.StringVar(&f.options.HealthProbeBindAddress, "health-probe-bind-address", "0", "address that serves /healthz and /readyz, such as :10357; 0 is none")
	flags.DurationVar(&f.options.StatusFrequency, "cluster-status-update-frequency", setup.DefaultStatusFrequency, "how often to read the status of this cluster")
	flags.DurationVar(&f.options.LeaseDuration, "cluster-lease-duration", setup.DefaultLeaseDuration, "after how much silence the hub counts this agent as lost while it has no line, if that is longer than the hub's own limit; 10m and more count as a second less")
	flags.Float64Var(&f.options.LeaseRenewFraction, "cluster-lease-renew-interval-fraction", setup.DefaultLeaseRenewFraction, "after which fraction of its duration the lease is renewed")
	flags.StringVar(&f.secret, "state-secret", "", "NAMESPACE/NAME of a Secret of this cluster that keeps the identity of this agent as well, for a pod whose state directory does not last")
	flags.StringSliceVar(&f.options.Namespaces, "namespaces", nil, "namespaces to which the agent is confined here: it leaves alone objects in other namespaces and cluster-scoped ones, whatever its rights; without it, the agent is not confined")
	flags.StringVar(&f.journalKey, "journal-key-file", "", "file, such as a mounted Secret's, whose content seals the Works that are kept in the state directory; without it only the modes of the files protect them")
	flags.BoolVar(&f.webhooks, "interpreter-webhooks", true, "call the interpreter webhooks that the hub names from this agent; never done with --namespaces")
	flags.BoolVar(&f.line, "line", true, "keep a line to the hub open, over which operators reach this cluster as far as its owner lets them (`agent operators`), and by which the hub notices at once that this agent is gone")
	flags.DurationVar(&f.options.Line.Ping, "line-ping", 0, "after how long without traffic the hub pings this agent over the line, up to 1m; longer intervals save traffic on a metered network. 0 leaves the interval to the hub, except while the hub takes long to answer (200 ms): then it is 20s")
	f.options.Compress = setup.CompressSlow
	flags.Var(&f.options.Compress, "compress", "ask the hub to compress its answers and watches: auto (while it takes long to answer, 200 ms), true or false; a hub that runs its own API server does so, others ignore it")
	flags.Lookup("compress").NoOptDefVal = string(setup.CompressAlways)
	flags.StringVar(&f.events, "events", eventsSummary, "which events to emit on the hub: summary (warnings), or all that clients of the API know")
	flags.StringVar(&f.memoryLimit, "memory-limit", "", "memory, such as 128Mi, above which the garbage collector works harder (default: $GOMEMLIMIT, or nine tenths of what the container has)")
	flags.StringVar(&f.deployment, "upgrade-deployment", "", "NAMESPACE/NAME of the Deployment that runs this agent in this cluster, if the hub may upgrade it through NAME-guard; without it, the hub may not")
	flags.StringVar(&f.logFormat, "log-format", logging.FormatText, "format of the log: text or json")
	flags.IntVarP(&f.verbosity, "verbosity", "v", 0, "log level: 0 changes, 1 details")
}

func newRun(env Environment) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [HOST:PORT[,HOST:PORT…] --token TOKEN --discovery-token-ca-cert-hash HASH --cluster-name NAME]",
		Short: "Run the agent",
		Long: "Run the agent of this cluster. With the arguments of `agent join` it joins first, unless it has joined; without them, it\n" +
			"runs with what `agent join` left in the state directory.",
		Args:              oneHub,
		ValidArgsFunction: cobra.NoFileCompletions, // an address
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	f.add(cmd.Flags())
	return cmd
}

func (f *runFlags) run(ctx context.Context, env Environment, args []string) error {
	if f.events != eventsSummary && f.events != eventsAll {
		return fmt.Errorf("--events is %q; it is %s or %s", f.events, eventsSummary, eventsAll)
	}
	log, err := logging.New(env.Err, f.logFormat, f.verbosity)
	if err != nil {
		return err
	}
	env.SetLogger(log)
	ctx = ctrl.LoggerInto(ctx, log)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}

	o, err := f.setupOptions()
	if err != nil {
		return err
	}
	locked, err := registration.Lock(f.join.stateDir)
	if err != nil {
		return err
	}
	defer locked.Close() //nolint:errcheck // the process ends
	var secretStore *registration.SecretStore
	if f.secret != "" {
		if secretStore, err = registration.OpenSecretStore(o.Member, f.secret); err != nil {
			return err
		}
		if err := secretStore.Restore(ctx, f.join.stateDir, f.join.clusterName); err != nil {
			return err
		}
	}
	credentials, err := f.identity(ctx, args, o.Member, secretStore)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	o.Hub, o.Cluster, o.Trust, o.Traffic = credentials.Config(), credentials.Cluster(), credentials.Trust, credentials.Traffic
	o.Refused, o.MemberRestored = credentials.Refused, credentials.MemberRestored
	if err := checkRecord(ctx, o); err != nil {
		return err
	}
	if f.line {
		o.Line.Open, o.Line.Certificate = credentials.Attach, credentials.Certificate
	} else {
		o.Line.None = "its agent runs with --line=false"
	}
	err = credentials.Reinstated(ctx)
	if err == nil && ctx.Err() == nil {
		err = serve(ctx, credentials, o)
	}
	if retired, ok := errors.AsType[*registration.RetiredError](err); ok {
		return retire(ctx, credentials, o, retired)
	}
	return err
}

// setupOptions returns the agent's options as far as flags and machine determine them. The hub's address comes with
// the credentials.
func (f *runFlags) setupOptions() (setup.Options, error) {
	o := f.options
	o.NoWebhooks = !f.webhooks
	o.AllEvents = f.events == eventsAll
	o.Version = version.Of().Short()
	o.Self = f.self()
	allowed, err := memory.Bound(f.memoryLimit, 1, os.DirFS("/"))
	if err != nil {
		return o, fmt.Errorf("--memory-limit: %w", err)
	}
	o.Scripts.Limiter = vm.NewLimiter(allowed)
	if o.Interpreter, err = store.BuiltIn(o.Scripts); err != nil {
		return o, err
	}
	o.StateDir, o.Account = f.join.stateDir, f.join.account
	if o.JournalSecret, err = journalSecret(f.journalKey); err != nil {
		return o, err
	}
	o.Clock = clock.RealClock{}
	o.Member, err = f.member.config()
	return o, err
}

// self describes how this agent runs, for upgrades.
func (f *runFlags) self() upgrade.Self {
	build := version.Of()
	out := upgrade.Self{
		Deployment: f.deployment, InPod: f.deployment != "" || f.member.kubeconfig == "" && os.Getenv(podVariable) != "", Start: os.Getenv(contract.AgentStartVariable),
		Versions: []string{build.Short(), build.Version, build.ImageTag},
	}
	if program, err := os.Executable(); err == nil {
		out.Program = program
	}
	return out
}

// retire does what was chosen at the join for the case that the hub forgets the member. Having nothing to do
// afterwards is no failure, nor is keeping many objects until a person approves their deletion.
func retire(ctx context.Context, credentials *registration.Credentials, o setup.Options, retired *registration.RetiredError) error {
	log := ctrl.LoggerFrom(ctx)
	if err := credentials.Retire(ctx, retired); err != nil {
		return err
	}
	if credentials.OnRetire() == registration.Remove {
		swept, err := setup.Sweep(ctx, o, setup.SweepOptions{})
		held, isHeld := errors.AsType[*setup.HeldError](err)
		switch {
		case isHeld:
			log.Info("The objects stay until somebody has them removed", "Cluster", retired.Cluster, "objects", held.Objects, "reason", held.Error())
		case errors.Is(err, setup.ErrNoRecord):
			log.Info("Nothing was removed", "Cluster", retired.Cluster, "reason", err.Error())
		case err != nil:
			return fmt.Errorf("the hub has retired this cluster, but not all objects could be removed: %w; start the agent again to go on", err)
		case swept.Objects == 0:
			log.Info("Nothing was removed: this agent has no record of any object", "Cluster", retired.Cluster, "left", swept.Left)
		default:
			log.Info("Removed the objects that this agent has a record of, as set at join", "Cluster", retired.Cluster, "objects", swept.Objects, "left", swept.Left)
		}
	} else {
		log.Info("The objects stay, as set at join", "Cluster", retired.Cluster)
	}
	log.Info("Stopping: the hub has retired this cluster", "Cluster", retired.Cluster, "at", retired.At, "by", retired.By)
	return nil
}

// releaseEvery is how often the agent releases unused pages of its program: soon after the start, and again after
// rare code may have run.
const releaseEvery = 2 * time.Minute

// releaseProgramRepeatedly releases the program's pages regularly. Most memory of an idle agent would be code that
// ran once.
func releaseProgramRepeatedly(ctx context.Context, c clock.Clock) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.After(releaseEvery):
			if _, err := releaseProgram(); err != nil {
				ctrl.LoggerFrom(ctx).V(1).Info("The program stays mapped", "reason", err.Error())
				return
			}
		}
	}
}

// serve runs the agent and, beside it, the rotation of its credentials.
func serve(ctx context.Context, credentials *registration.Credentials, o setup.Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kept := make(chan error, 1)
	go func() {
		defer cancel() // it ends early only if the agent must not go on
		kept <- credentials.Keep(ctx)
	}()
	go releaseProgramRepeatedly(ctx, o.Clock)
	err := setup.Run(ctx, o)
	cancel()
	if stopped := <-kept; stopped != nil {
		return stopped
	}
	return err
}

// checkRecord returns an error if there is a journal that the given key cannot read. Starting a new one would lose
// the content of the old: what an agent enforces while the hub is away, what it removes if the hub forgets the
// member, and which Works are too old to be trusted.
func checkRecord(ctx context.Context, o setup.Options) error {
	if err := setup.CheckRecord(ctx, o); err != nil {
		return fmt.Errorf("%w; nothing in it was changed. Give the --journal-key-file that it was written with, or none if it is not sealed. If that key is lost, "+
			"or you want to use another one, move that directory away, and the agent makes a new one from the hub's Works. For a pod with a claimed volume, scale the Deployment to 0, delete the claim, "+
			"then run `agent join --install` or `helm upgrade` again, which makes both", err)
	}
	return nil
}

// journalSecret reads the secret that seals the journal from a file, if one is named.
func journalSecret(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	secret, err := os.ReadFile(path) //nolint:gosec // It is the user's.
	if err != nil {
		return nil, fmt.Errorf("reading --journal-key-file: %w", err)
	}
	if len(bytes.TrimSpace(secret)) < minJournalSecret {
		return nil, fmt.Errorf("--journal-key-file %q has fewer than %d characters; use something like the output of `openssl rand -hex 32`", path, minJournalSecret)
	}
	return secret, nil
}
