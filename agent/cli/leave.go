package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// leaveFlags configure `agent leave`.
type leaveFlags struct {
	member   memberFlags
	stateDir string
	// recordDir keeps the record of the hub's objects until the command has finished, over repeated runs; empty means
	// stateDir.
	recordDir string
	objects   string
	force     bool
	// installed says that the agent runs as a Deployment in the member.
	installed bool
	timeout   time.Duration
	// journalKey is the file with the key that seals this record.
	journalKey string
}

func newLeave() *cobra.Command {
	var f leaveFlags
	cmd := &cobra.Command{
		Use:   "leave --objects keep|remove",
		Short: "Leave the hub",
		Long: "Leave the hub: it forgets this cluster, and its objects here stay as they are or are removed. Stop `agent run` first.\n" +
			"The name stays reserved for this cluster, which may join again with a new token, until `hub forget NAME --release`.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.objects != registration.Keep && f.objects != registration.Remove {
				return fmt.Errorf("--objects is required: %s leaves the hub's objects here as they are, %s removes them", registration.Keep, registration.Remove)
			}
			if f.installed && f.journalKey != "" {
				return errors.New("--journal-key-file is for the state directory of an agent that runs as a process; leave it out with --installed, which reads no record of the agent")
			}
			if f.installed && cmd.Flags().Changed("state-dir") {
				return errors.New("--state-dir is for an agent that runs as a process; leave it out with --installed, which goes by the Secret of the agent")
			}
			return f.leave(cmd.Context(), cmd.OutOrStdout())
		},
	}
	fs := cmd.Flags()
	f.member.add(fs)
	fs.StringVar(&f.stateDir, "state-dir", defaultStateDir, "directory that holds the identity of this agent")
	fs.StringVar(&f.objects, "objects", "", "what to do with the hub's objects here: keep or remove")
	fs.BoolVar(&f.installed, "installed", false, "the agent runs as a Deployment in this cluster, which is removed")
	fs.BoolVar(&f.force, "force", false, "leave even if the hub cannot be reached; it expects this cluster until `hub forget`")
	fs.StringVar(&f.journalKey, "journal-key-file", "", "that flag of agent run, with which the record of the hub's objects here is sealed; not with --installed")
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "how long the hub may take to let this cluster go")
	return cmd
}

func (f *leaveFlags) leave(ctx context.Context, out io.Writer) error {
	if f.installed {
		return f.leaveInstalled(ctx, out)
	}
	return f.leaveWith(ctx, out)
}

func (f *leaveFlags) leaveWith(ctx context.Context, out io.Writer) error {
	locked, err := registration.Lock(f.stateDir)
	if err != nil {
		return err
	}
	defer locked.Close() //nolint:errcheck // the process ends
	tell := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	stage, cluster, err := registration.StageOf(f.stateDir)
	switch {
	case err != nil:
		return err
	case stage == registration.StageBegun:
		tell("Joining as cluster %s was never finished, so there is nothing to leave; if the hub has that cluster, run `hub forget %s` there", cluster, cluster)
		return registration.Forget(f.stateDir)
	case stage == registration.StageLeft:
		return f.forget(cluster, tell)
	}
	credentials, err := registration.OpenCredentials(registration.KeepOptions{StateDir: f.stateDir, Clock: clock.RealClock{}, Random: rand.Float64})
	if err != nil {
		return err
	}
	o, err := f.options(ctx, credentials)
	if err != nil {
		return err
	}

	//  1. Read the Works while the hub still knows this cluster.
	works, unknown := f.works(ctx, o, tell)
	//  2. Make the hub forget the cluster. From here on nobody asks for anything here.
	if err := f.ask(ctx, credentials, unknown, works); err != nil {
		if !f.force {
			return fmt.Errorf("%w; with --force this cluster leaves without the hub's knowledge", err)
		}
		tell("The hub does not know: run `hub forget %s` there (%v)", credentials.Cluster(), err)
	} else {
		tell("The hub has released the cluster")
	}
	//  3. Remove or keep the hub's objects. Running this command is the approval that the deletion brake asks for.
	if err := f.sweep(ctx, o, works, unknown, tell); err != nil {
		return err
	}
	//  4. Remove what admitted operators of the hub.
	if err := f.removeOperators(ctx, o.Member, tell); err != nil {
		return err
	}
	//  5. Remove the credentials, and the record with them last: an interrupted command finds there what remains to
	//     be done.
	return f.forget(credentials.Cluster(), tell)
}

// options returns the options of the leaving agent.
func (f *leaveFlags) options(ctx context.Context, credentials *registration.Credentials) (setup.Options, error) {
	o := setup.Options{Hub: credentials.Config(), Cluster: credentials.Cluster(), StateDir: cmp.Or(f.recordDir, f.stateDir), Clock: clock.RealClock{}}
	var err error
	if o.JournalSecret, err = journalSecret(f.journalKey); err != nil {
		return o, err
	}
	if err := setup.CheckRecord(ctx, o); err != nil && !f.force {
		return o, fmt.Errorf("%w; give the --journal-key-file of `agent run`, or --force to go by what the hub has", err)
	}
	o.Member, err = f.member.config()
	return o, err
}

// works returns the Works of this cluster and records them until everything is done. If the hub does not list them,
// unknown says why.
func (f *leaveFlags) works(ctx context.Context, o setup.Options, tell func(string, ...any)) (works []*workv1alpha1.Work, unknown error) {
	works, unknown = setup.Works(ctx, o)
	if unknown != nil {
		tell("Leaving as cluster %s; the hub does not say which Works it has for this cluster", o.Cluster)
		return works, unknown
	}
	tell("Leaving as cluster %s; the hub has %d Works for this cluster", o.Cluster, len(works))
	if len(works) == 0 {
		return works, nil
	}
	if err := setup.Record(ctx, o, works); err != nil {
		tell("The objects here could not be recorded, so do not interrupt this: %v", err)
	} else {
		tell("The objects here are recorded in %s until this is done", o.StateDir)
	}
	return works, nil
}

// forget removes the agent's credentials and journal.
func (f *leaveFlags) forget(cluster string, tell func(string, ...any)) error {
	if err := registration.Forget(f.stateDir); err != nil {
		return err
	}
	tell("Cluster %s has left; its key and certificate are gone from %s", cluster, f.stateDir)
	return nil
}

// sweep keeps or removes the hub's objects. It leaves the record, so that it can be repeated.
func (f *leaveFlags) sweep(ctx context.Context, o setup.Options, works []*workv1alpha1.Work, unknown error, tell func(string, ...any)) error {
	stay, known := f.objects == registration.Keep, 0
	swept, err := setup.Sweep(ctx, o, setup.SweepOptions{
		Works: works, Stay: stay, Approved: true, Unasked: unknown != nil, Again: true,
		Begin: func(objects int) {
			if known = objects; !stay {
				tell("Removing %d objects, because of --objects %s", objects, f.objects)
			}
		},
	})
	switch {
	case errors.Is(err, setup.ErrNoRecord) && stay:
		tell("All objects stay as they are. There is no record of the hub's objects here, so they keep the agent's marks: they are those with the label %s=%s",
			contract.ManagedLabel, contract.LabelTrue)
	case errors.Is(err, setup.ErrNoRecord):
		return fmt.Errorf("%w; remove it by that, then run the same command with --objects %s%s", err, registration.Keep, f.recordElsewhere())
	case err != nil:
		return fmt.Errorf("not all objects could be kept or removed: %w; run the same command again", err)
	case stay:
		tell("%d objects stay as they are, without the agent's marks", swept.Objects)
	case swept.Objects+len(swept.Left) < known:
		tell("%d objects are removed; the others were gone or no longer belonged to the hub", swept.Objects)
	default:
		tell("%d objects are removed", swept.Objects)
	}
	for _, left := range swept.Left {
		tell("%s", left)
	}
	return nil
}

// ask makes the hub forget the cluster. A hub that has already forgotten it may not have listed the Works: then the
// journal has them.
func (f *leaveFlags) ask(ctx context.Context, credentials *registration.Credentials, unknown error, works []*workv1alpha1.Work) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	if unknown != nil && len(works) == 0 {
		is := credentials.Left(ctx)
		if errors.Is(is, registration.ErrRetired) {
			return nil
		}
		return unknown
	}
	return credentials.Leave(ctx)
}

// removeOperators removes what admitted operators of the hub.
func (f *leaveFlags) removeOperators(ctx context.Context, member *rest.Config, tell func(string, ...any)) error {
	installer, err := newInstaller(member)
	if err != nil {
		return err
	}
	settings, err := installer.Operators(ctx)
	if err != nil {
		tell("Could not check whether operators of the hub were let in (%v); `agent operators off` ends that", err)
		return nil
	}
	if settings == nil {
		return nil
	}
	if err := installer.LetIn(ctx, manifest.Operators{}, func(string) {}); err != nil {
		return fmt.Errorf("%w; run the same command again", err)
	}
	tell("The settings that let operators of the hub in are removed")
	return nil
}
