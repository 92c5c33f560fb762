package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/install"
	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
)

// Values of --print.
const (
	printSystemd   = "systemd"
	printManifests = "manifests"
	printValues    = "values"
)

// joinCommand holds the flags and arguments of `agent join`.
type joinCommand struct {
	member  memberFlags
	join    joinFlags
	install installFlags
	// operators say what operators of the hub may do in the member.
	operators operatorFlags
	check     bool
	print     string
	timeout   time.Duration
	// journalKey and webhooks configure the agent that runs until the cluster is Ready, and the process that runs
	// afterwards.
	journalKey string
	webhooks   bool
	flags      *pflag.FlagSet
}

func newJoin(env Environment) *cobra.Command {
	var f joinCommand
	cmd := &cobra.Command{
		Use:   "join HOST:PORT[,HOST:PORT…] --token TOKEN --discovery-token-ca-cert-hash HASH --cluster-name NAME",
		Short: "Make this cluster known to a hub",
		Long: "Make this cluster known to a hub, with the command that `hub token create` printed there; several addresses are tried in turn. First it checks everything\n" +
			"that can make a join fail, and says what to do about it; --check does only that. Then it joins, runs the agent until\n" +
			"the hub reports the cluster Ready, and prints how to keep it running: as a process (--print systemd prints a unit) or,\n" +
			"with --install, as a Deployment in this cluster (--print manifests prints it). If it was interrupted, run it again.",
		Args:              oneHub,
		ValidArgsFunction: cobra.NoFileCompletions, // an address
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, cmd.OutOrStdout(), args)
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func (f *joinCommand) add(flags *pflag.FlagSet) {
	f.flags = flags
	f.member.add(flags)
	f.join.add(flags)
	flags.BoolVar(&f.check, "check", false, "only check whether a join can succeed; nothing is changed and the token is not used up")
	flags.StringVar(&f.print, "print", "", "only print how to run the agent: systemd (a unit), manifests (for this cluster), or values (of the chart, which have Helm take over the agent that is installed as it is)")
	flags.DurationVar(&f.timeout, "ready-timeout", 2*time.Minute, "how long the hub may take to report the cluster Ready")
	flags.StringVar(&f.journalKey, "journal-key-file", "", "that flag of agent run, for an agent that runs as a process: its record of Works is written during the join, too")
	flags.BoolVar(&f.webhooks, "interpreter-webhooks", true, "that flag of agent run, for an agent that runs as a process")
	f.install.add(flags)
	flags.StringSliceVar(&f.operators.who, "operators", nil, "operators of the hub who may get, list and watch objects and read logs in this cluster through the agent, each user:NAME or group:NAME; off is none (default: the current setting, at first off; `agent operators` changes it later)")
	f.operators.add(flags, "operators-")
}

// oneHub accepts at most one argument.
func oneHub(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("unexpected argument %q; see `%s --help`", args[1], cmd.CommandPath())
	}
	return nil
}

func (f *joinCommand) run(ctx context.Context, env Environment, out io.Writer, args []string) error {
	if err := f.validate(args); err != nil {
		return err
	}
	hub := ""
	if len(args) > 0 {
		hub = args[0]
	}
	if f.print != "" {
		return f.printed(ctx, out, hub)
	}
	config, err := f.member.config()
	if err != nil {
		return err
	}
	tell := func(step string) { _, _ = fmt.Fprintln(out, step) }
	options, err := f.join.options(hub, f.member, config, tell)
	if err != nil {
		return err
	}
	if options.Token, err = f.join.secret(); err != nil {
		return err
	}
	env.SetLogger(logr.Discard())
	ctx = ctrl.LoggerInto(ctx, logr.Discard())
	var installer *install.Installer
	if f.install.wanted {
		if installer, err = newInstaller(config); err != nil {
			return err
		}
		if err := f.install.keep(ctx, installer, &f.join.account, tell); err != nil {
			return err
		}
		var remove func()
		if options.StateDir, remove, err = prepare(ctx, installer, options.Cluster, tell); err != nil {
			return err
		}
		defer remove()
	}
	options.Rights = registration.RightsToApply(f.install.namespaces, f.install.kinds, f.join.account)
	if f.check || !registration.Joined(ctx, options) {
		var refused []registration.Finding
		if f.install.wanted {
			if refused, err = f.install.refused(ctx, installer, f.join.account, f.operators); err != nil {
				return err
			}
		}
		if err := checkJoin(ctx, options, refused, out); err != nil {
			return err
		}
		if f.check {
			tell("All checks passed, this cluster can join")
			return nil
		}
	}
	if f.install.wanted {
		return f.install.run(ctx, installer, options, f.join.account, f.operators, f.timeout, tell)
	}
	return f.joinHere(ctx, options, tell)
}

// printed prints what --print asks for, in place of joining.
func (f *joinCommand) printed(ctx context.Context, out io.Writer, hub string) error {
	switch f.print {
	case printSystemd:
		return printUnit(out, f)
	case printManifests:
		return f.install.print(out, f.join, f.operators, hub)
	}
	config, err := f.member.config()
	if err != nil {
		return err
	}
	installer, err := newInstaller(config)
	if err != nil {
		return err
	}
	return printInstalled(ctx, out, installer)
}

func (f *joinCommand) validate(args []string) error {
	inCluster := f.install.wanted || f.print == printManifests
	switch {
	case f.print != "" && f.print != printSystemd && f.print != printManifests && f.print != printValues:
		return fmt.Errorf("--print is %q; it is %s, %s or %s", f.print, printSystemd, printManifests, printValues)
	case f.print != "" && f.check:
		return errors.New("--print and --check exclude each other")
	case len(args) == 0 && f.print != printSystemd && f.print != printValues:
		return errors.New("the address of the hub is missing; use the command that `hub token create` printed there")
	case f.timeout <= 0:
		return errors.New("--ready-timeout must be positive")
	case inCluster && (f.journalKey != "" || !f.webhooks):
		return errors.New("--journal-key-file and --interpreter-webhooks are for an agent that runs as a process; for an agent in the cluster, use the values of the chart")
	case inCluster && f.flags.Changed("state-dir"):
		return errors.New("--state-dir is for an agent that runs as a process; --state-volume says where one in the cluster keeps its state")
	}
	if f.print == printValues {
		return f.validateValues(args)
	}
	if err := setup.CheckAccount(f.join.account); err != nil {
		return err
	}
	if _, err := f.operators.rules(); err != nil {
		return err
	}
	switch {
	case f.operators.given():
	case f.flags.Changed("operators"):
		return errors.New("--operators names nobody: off lets nobody in, and without it operators are let in as before")
	case f.flags.Changed("operators-identity"):
		return errNobody
	}
	if f.operators.given() && f.print == printSystemd {
		return errors.New("--operators is a setting of this cluster, not of a unit: leave it out here, and run `agent operators`")
	}
	return f.install.validate(f.print == printManifests)
}

// validateValues refuses flags that would be ignored: the printed values are those of the installed agent.
func (f *joinCommand) validateValues(args []string) error {
	ignored := slices.Clone(args)
	f.flags.Visit(func(given *pflag.Flag) {
		if !slices.Contains([]string{"print", "kubeconfig", "context"}, given.Name) {
			ignored = append(ignored, "--"+given.Name)
		}
	})
	if len(ignored) > 0 {
		return fmt.Errorf("--print %s prints the agent that is installed, as it is: leave out %s, and change the values that are printed", printValues, strings.Join(ignored, ", "))
	}
	return nil
}
