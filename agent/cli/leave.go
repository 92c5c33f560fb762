package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// leaveFlags say what to leave, and how.
type leaveFlags struct {
	member   memberFlags
	stateDir string
	// recordDir keeps what the hub had here until the command has come to its end, however often it is run; empty is stateDir.
	recordDir string
	objects   string
	force     bool
	// installed says that the agent runs as a Deployment in the member.
	installed bool
	timeout   time.Duration
}

func newLeave() *cobra.Command {
	var f leaveFlags
	cmd := &cobra.Command{
		Use:   "leave --objects keep|remove",
		Short: "Leave the hub",
		Long: "Leave the hub: it forgets this cluster, and what it had here stays as it is or is removed. Stop `agent run` first.\n" +
			"The name stays that of this cluster, which may come back with a new token, until `hub forget NAME --release`.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.objects != registration.Keep && f.objects != registration.Remove {
				return fmt.Errorf("say with --objects what becomes of what the hub had here: %s leaves it as it is, %s removes it", registration.Keep, registration.Remove)
			}
			return f.leave(cmd.Context(), cmd.OutOrStdout())
		},
	}
	fs := cmd.Flags()
	f.member.add(fs)
	fs.StringVar(&f.stateDir, "state-dir", defaultStateDir, "directory that holds the identity of this agent")
	fs.StringVar(&f.objects, "objects", "", "what becomes of what the hub had here: keep or remove")
	fs.BoolVar(&f.installed, "installed", false, "the agent runs as a Deployment in this cluster, which is removed")
	fs.BoolVar(&f.force, "force", false, "leave even though the hub cannot be told; it still counts on this cluster until `hub forget`")
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "how long the hub may take to let this cluster go")
	return cmd
}

func (f *leaveFlags) leave(ctx context.Context, out io.Writer) error {
	if !f.installed {
		return f.leaveWith(ctx, out)
	}
	installer, err := f.member.installer()
	if err != nil {
		return err
	}
	if f.recordDir, err = recordDir(ctx, f.member); err != nil {
		return err
	}
	if _, err := installer.State(ctx); err != nil {
		return err // who may not read it would stop the agent for nothing
	}
	stopping, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	if err := installer.Stop(stopping); err != nil {
		return err
	}
	// Only now: until it is stopped, its agent may finish a join or renew its certificate behind our back.
	state, err := installer.State(ctx)
	if err != nil {
		return err
	}
	if len(state) == 0 {
		return f.notInstalled(ctx, installer)
	}
	if cluster, unfinished := registration.Unfinished(state); unfinished {
		err = f.leaveUnfinished(ctx, installer, cluster, out)
	} else {
		err = f.leaveAs(ctx, state, out)
	}
	if err != nil {
		return err
	}
	if err := installer.Remove(ctx); err != nil {
		return err
	}
	if err := f.removeRecord(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "The Deployment of the agent and its rights are removed")
	return err
}

// notInstalled says that there is no installed agent that could leave. What has its label may be of one that runs as a process: what lets
// operators in.
func (f *leaveFlags) notInstalled(ctx context.Context, installer *install.Installer) error {
	if err := hasNoVolume(ctx, installer, "NAME"); err != nil {
		return err
	}
	if err := f.removeRecord(); err != nil {
		return err
	}
	return fmt.Errorf("%w, or has left it: nothing of an installed agent is in this cluster; one that runs as a process leaves without --installed", registration.ErrNotJoined)
}

// removeRecord removes the record of what the hub had here. It goes last, after the Secrets, so what a command that was killed then left is
// removed by the next one, which finds no Secret.
func (f *leaveFlags) removeRecord() error {
	if f.recordDir == "" {
		return nil
	}
	if err := os.RemoveAll(f.recordDir); err != nil {
		return fmt.Errorf("removing the record of what was here: %w; it may have Secrets in it, so remove it yourself", err)
	}
	return nil
}

// leaveAs leaves as the agent that has this state.
func (f *leaveFlags) leaveAs(ctx context.Context, state map[string][]byte, out io.Writer) error {
	dir, remove, err := unpack(state)
	if err != nil {
		return err
	}
	defer remove()
	f.stateDir = dir
	return f.leaveWith(ctx, out)
}

// leaveUnfinished leaves where the Secret of the agent has a join that was begun and no credentials. Whether it was finished it
// does not prove: an agent may have worked that could not write its Secret.
func (f *leaveFlags) leaveUnfinished(ctx context.Context, installer *install.Installer, cluster string, out io.Writer) error {
	if err := hasNoVolume(ctx, installer, cluster); err != nil {
		return err
	}
	if f.objects == registration.Remove {
		return fmt.Errorf("the agent of this cluster has no credentials, so it is not known which objects the hub had here, if any: they are those with the label %s=%s; "+
			"remove them by that, then run the same command with --objects %s", contract.ManagedLabel, contract.LabelTrue, registration.Keep)
	}
	_, _ = fmt.Fprintf(out, "Joining as cluster %s was never finished, so there is nothing to leave; if the hub has that cluster, run `hub forget %s` there\n", cluster, cluster)
	return nil
}

// hasNoVolume returns an error if the agent may have its credentials, and the journal of what the hub had here, on a claimed volume.
func hasNoVolume(ctx context.Context, installer *install.Installer, cluster string) error {
	claimed, err := installer.Claimed(ctx)
	if err != nil || !claimed {
		return err
	}
	return fmt.Errorf("the Secret of the agent has no credentials, but its volume may have them, so nothing is removed but its Deployment: "+
		"have it join again, by `agent join --install` with what `hub token create --rejoin %s` prints, then run the same command again. "+
		"If it never joined, run `kubectl delete persistentvolumeclaim -n %s %s` first", cluster, contract.SystemNamespace, manifest.Name)
}

// recordDir returns where what a hub had in a member is kept while the member leaves. The hub says nothing of it once it has let
// the member go, and the state of an installed agent is here for the time of one command only. It is empty if this user has no
// place for it.
func recordDir(ctx context.Context, f memberFlags) (string, error) {
	caches, err := os.UserCacheDir()
	if err != nil {
		return "", nil //nolint:nilerr // a command that is not interrupted does without
	}
	config, err := f.config()
	if err != nil {
		return "", err
	}
	id, err := registration.MemberID(ctx, config)
	if err != nil {
		return "", err
	}
	return filepath.Join(caches, "fairlead", "leaving-"+id), nil
}

func (f *leaveFlags) leaveWith(ctx context.Context, out io.Writer) error {
	locked, err := registration.Lock(f.stateDir)
	if err != nil {
		return err
	}
	defer locked.Close() //nolint:errcheck // the process ends
	credentials, err := registration.OpenCredentials(registration.KeepOptions{StateDir: f.stateDir, Clock: clock.RealClock{}, Random: rand.Float64})
	if err != nil {
		return err
	}
	o := setup.Options{Hub: credentials.Config(), Cluster: credentials.Cluster(), StateDir: cmp.Or(f.recordDir, f.stateDir), Clock: clock.RealClock{}}
	if o.Member, err = f.member.config(); err != nil {
		return err
	}
	tell := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }

	// 1. What is here is known before the hub forgets it.
	works, unknown := setup.Works(ctx, o)
	tell("Leaving as cluster %s; the hub has %d Works for it", credentials.Cluster(), len(works))
	if f.recordDir != "" && len(works) > 0 {
		if err := setup.Record(ctx, o, works); err != nil {
			tell("What is here is not recorded, so do not interrupt this: %v", err)
		} else {
			tell("What is here is recorded in %s until this is done", f.recordDir)
		}
	}
	// 2. The hub lets go: from here on nobody asks for anything here.
	if err := f.ask(ctx, credentials, unknown, works); err != nil {
		if !f.force {
			return fmt.Errorf("%w; with --force this cluster leaves without the hub's knowledge", err)
		}
		tell("The hub does not know: run `hub forget %s` there (%v)", credentials.Cluster(), err)
	} else {
		tell("The hub has let the cluster go")
	}
	// 3. What it had here. That the person who runs this said what becomes of it is the word
	// that the deletion brake asks for.
	stay := f.objects == registration.Keep
	swept, err := setup.Sweep(ctx, o, setup.SweepOptions{
		Works: works, Stay: stay, Approved: true, Unasked: unknown != nil, Again: f.recordDir != "",
		Begin: func(objects int) {
			if !stay {
				tell("Removing %d objects, as --objects %s says", objects, f.objects)
			}
		},
	})
	switch {
	case errors.Is(err, setup.ErrNoRecord) && stay:
		tell("All objects stay as they are. There is no record of which the hub had here, so they still bear our marks: they are those with the label %s=%s",
			contract.ManagedLabel, contract.LabelTrue)
	case errors.Is(err, setup.ErrNoRecord):
		return fmt.Errorf("%w; remove it by that, then run the same command with --objects %s%s", err, registration.Keep, f.elsewhere())
	case err != nil:
		return fmt.Errorf("not all objects could be dealt with: %w; run the same command again", err)
	case stay:
		tell("%d objects stay as they are, without our marks", swept.Objects)
	default:
		tell("%d objects are removed", swept.Objects)
	}
	for _, left := range swept.Left {
		tell("%s", left)
	}
	// 4. What let operators of the hub in.
	if err := f.shutOut(ctx, o.Member, tell); err != nil {
		return err
	}
	// 5. What made this cluster one of the hub's.
	if err := credentials.Forget(); err != nil {
		return err
	}
	tell("Cluster %s has left; its key and certificate are gone from %s", credentials.Cluster(), f.stateDir)
	return nil
}

// elsewhere says where there may be a record.
func (f *leaveFlags) elsewhere() string {
	if !f.installed {
		return ""
	}
	return "; if this command was begun as another user or on another machine, run it there instead"
}

// ask has the hub forget the cluster. One that forgot it already need not have said which
// Works there were: the journal has them.
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

// shutOut removes what let operators of the hub in.
func (f *leaveFlags) shutOut(ctx context.Context, member *rest.Config, tell func(string, ...any)) error {
	installer, err := newInstaller(member)
	if err != nil {
		return err
	}
	settings, err := installer.Operators(ctx)
	if err != nil {
		tell("It was not looked whether operators of the hub were let in (%v); `agent operators off` takes it back", err)
		return nil
	}
	if settings == nil {
		return nil
	}
	if err := installer.LetIn(ctx, manifest.Operators{}, func(string) {}); err != nil {
		return fmt.Errorf("%w; run the same command again", err)
	}
	tell("What let operators of the hub in is removed")
	return nil
}
