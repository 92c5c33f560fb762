package cli

import (
	"context"
	"fmt"
	"os"

	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/agent/registration"
	"fairlead.dev/common/contract"
)

// prepare returns a directory for the time of the command, with what an agent that is
// installed already has. What a join as another cluster left that never succeeded is in nobody's way.
func prepare(ctx context.Context, installer *install.Installer, cluster string, tell func(string)) (dir string, remove func(), err error) {
	state, err := installer.State(ctx)
	if err != nil {
		return "", nil, err
	}
	switch other, unfinished := registration.Unfinished(state); {
	case other == "" || other == cluster:
	case unfinished:
		tell(registration.Abandoned(state))
		state = nil
	case cluster != "":
		return "", nil, fmt.Errorf("the agent that is installed in this cluster has joined as cluster %s, not as %s; let it leave first (`agent leave --installed`)", other, cluster)
	}
	return unpack(state)
}

// unpack returns a directory for the time of the command, with what an agent that is installed has.
func unpack(state map[string][]byte) (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("", "fairlead-join-"); err != nil {
		return "", nil, fmt.Errorf("making a directory for the time of this command: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) } // it is readable for its owner only
	if len(state) == 0 {
		return dir, remove, nil
	}
	if err := registration.CheckFiles(state); err != nil {
		remove()
		return "", nil, fmt.Errorf("%w, in Secret %s/%s of the member, and no agent writes that; find out who did, then delete the Secret and join again",
			err, contract.SystemNamespace, manifest.Name)
	}
	if err := registration.WriteFiles(dir, state); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// currentState returns what a directory has for the agent to begin with. One that runs may have renewed its certificate since the directory
// was filled from its Secret, and is not to go back to the one before.
func currentState(dir string) install.State {
	return func(kept map[string][]byte) (map[string][]byte, error) {
		files, err := registration.Files(dir)
		if err != nil {
			return nil, err
		}
		return registration.Renewed(files, kept)
	}
}
