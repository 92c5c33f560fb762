package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/agent/registration"
	"fairlead.dev/common/contract"
)

// leaveInstalled leaves as the agent that runs as a Deployment in the member, and removes the agent.
func (f *leaveFlags) leaveInstalled(ctx context.Context, out io.Writer) error {
	installer, err := f.member.installer()
	if err != nil {
		return err
	}
	if f.recordDir, err = recordDir(ctx, f.member); err != nil {
		return err
	}
	if _, err := installer.State(ctx); err != nil {
		return err // without the right to read it, the agent would be stopped in vain
	}
	stopping, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	stopped, err := installer.Stop(stopping)
	if err == nil {
		err = f.leaveStopped(ctx, installer, out)
	}
	if err != nil && stopped {
		err = fmt.Errorf("%w. The agent is stopped; to start it again: kubectl scale deployment -n %s %s --replicas 1", err, contract.SystemNamespace, manifest.Name)
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

// leaveStopped leaves as an installed agent that has been stopped. While it runs, it may finish a join or renew its
// certificate.
func (f *leaveFlags) leaveStopped(ctx context.Context, installer *install.Installer, out io.Writer) error {
	state, err := installer.State(ctx)
	if err != nil {
		return err
	}
	installed, err := installer.Installed(ctx)
	if err != nil {
		return err
	}
	cluster, unfinished := registration.Unfinished(state)
	switch {
	case len(state) == 0 && !installed:
		return f.notInstalled(ctx, installer)
	case len(state) == 0 || unfinished:
		return f.leaveUnfinished(ctx, installer, cluster, out)
	default:
		return f.leaveWithState(ctx, state, out)
	}
}

// notInstalled reports that no installed agent could leave. Objects with its label may belong to an agent that runs
// as a process: they admit operators.
func (f *leaveFlags) notInstalled(ctx context.Context, installer *install.Installer) error {
	if err := checkNoStatePlace(ctx, installer, unnamed); err != nil {
		return err
	}
	if err := f.removeRecord(); err != nil {
		return err
	}
	return fmt.Errorf("%w, or has left it: nothing of an installed agent is in this cluster; one that runs as a process leaves without --installed", registration.ErrNotJoined)
}

// removeRecord removes the record of the hub's objects. It goes last, after the Secrets. If the command is killed in
// between, the next one finds no Secret and removes the record.
func (f *leaveFlags) removeRecord() error {
	if f.recordDir == "" {
		return nil
	}
	if err := os.RemoveAll(f.recordDir); err != nil {
		return fmt.Errorf("removing the record of the objects here: %w; it may contain Secrets, so remove it yourself", err)
	}
	return nil
}

// leaveWithState leaves as the agent with this state.
func (f *leaveFlags) leaveWithState(ctx context.Context, state map[string][]byte, out io.Writer) error {
	dir, remove, err := unpack(state)
	if err != nil {
		return err
	}
	defer remove()
	f.stateDir = dir
	return f.leaveWith(ctx, out)
}

// unnamed stands for the name of a cluster if it is not known.
const unnamed = "NAME"

// leaveUnfinished leaves when the agent's Secret has no credentials, but an unfinished join or nothing. That does not
// prove that the join did not finish: an agent that could not write its Secret may have worked.
func (f *leaveFlags) leaveUnfinished(ctx context.Context, installer *install.Installer, cluster string, out io.Writer) error {
	as := " as cluster " + cluster
	if cluster == "" {
		cluster, as = unnamed, ""
	}
	if err := checkNoStatePlace(ctx, installer, cluster); err != nil {
		return err
	}
	if f.objects == registration.Remove {
		return fmt.Errorf("the agent of this cluster has no credentials, so the hub's objects here, if any, are not known: they are those with the label %s=%s; "+
			"delete them by this label, then run the same command with --objects %s", contract.ManagedLabel, contract.LabelTrue, registration.Keep)
	}
	_, _ = fmt.Fprintf(out, "Joining%s was never finished, so there is nothing to leave; if the hub has that cluster, run `hub forget %s` there\n", as, cluster)
	return nil
}

// checkNoStatePlace returns an error if the agent may have its credentials and its journal outside its Secret.
func checkNoStatePlace(ctx context.Context, installer *install.Installer, cluster string) error {
	place, err := installer.StatePlace(ctx)
	if err != nil || place == nil {
		return err
	}
	return fmt.Errorf("the Secret of the agent has no credentials, but its %s may have them, so nothing is removed: "+
		"have it join again, by `agent join --install` with what `hub token create --rejoin %s` prints, then run the same command again. "+
		"If it never joined, run `%s` first", place.Is, cluster, place.Release)
}

// recordDir returns the directory that keeps the record of the hub's objects while the member leaves. The hub lists
// nothing once it has forgotten the member, and the state of an installed agent is here only during one command. It
// is empty if this user has no cache directory.
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

// recordElsewhere says where else a record may be.
func (f *leaveFlags) recordElsewhere() string {
	if !f.installed {
		return ""
	}
	return "; if this command was begun as another user or on another machine, run it there instead"
}
