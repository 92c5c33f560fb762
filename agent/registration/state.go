package registration

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"

	"fairlead.dev/common/atomicfile"
)

// Files in the state directory.
const (
	// KubeconfigFile is the agent's kubeconfig for the hub.
	KubeconfigFile = "hub.kubeconfig"
	identityFile   = "agent.json"
	keyFile        = "agent.key"
	renewalKeyFile = "renewal.key"
	retiredFile    = "retired.json"
	refusedFile    = "refused.json"
	// journalDir holds the journals, one directory per cluster.
	journalDir = "journal"
)

const dirMode = 0o700

// state is a state directory.
type state struct{ dir string }

// Load returns the configuration of the agent's client for the hub, from its state directory. It refuses a directory of another cluster,
// unless cluster is empty.
func Load(stateDir, cluster string) (*rest.Config, error) {
	s := state{dir: stateDir}
	who, err := s.identity()
	if err != nil {
		return nil, err
	}
	if who == nil {
		return nil, fmt.Errorf("%w: there is nothing in %q; run `agent join` first, or give its --state-dir", ErrNotJoined, stateDir)
	}
	if err := s.belongsTo(who, cluster); err != nil {
		return nil, err
	}
	if who.Left {
		return nil, fmt.Errorf("%w: cluster %s has left its hub, but `agent leave` was interrupted before it emptied %q; run it again, or `agent join` to come back", ErrNotJoined, who.Cluster, stateDir)
	}
	raw, err := s.read(KubeconfigFile)
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, fmt.Errorf("%w: the join of cluster %s was not finished; run the same `agent join` again", ErrNotJoined, who.Cluster)
	}
	config, err := parseKubeconfig(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %s in %q is damaged (%w); remove the file and join again", ErrStateDir, KubeconfigFile, stateDir, err)
	}
	return config, nil
}

func (s state) writeJSON(name string, value any) error {
	raw, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	return s.write(name, raw)
}

// remove removes files that exist.
func (s state) remove(names ...string) error {
	for _, name := range names {
		if err := os.Remove(s.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.unusable(err)
		}
	}
	return nil
}

func (s state) path(name string) string { return filepath.Join(s.dir, name) }

// read returns the content of a file; nil if there is none.
func (s state) read(name string) ([]byte, error) {
	raw, err := os.ReadFile(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.unusable(err)
	}
	return raw, nil
}

// write replaces a file atomically. Only its owner may read it, and when write returns, it survives a power loss: the
// hub is told about its content afterwards.
func (s state) write(name string, content []byte) error {
	if err := atomicfile.Write(s.path(name), content); err != nil {
		return s.unusable(err)
	}
	return nil
}

func (s state) unusable(err error) error {
	return fmt.Errorf("%w: %w; make %q writable for this user, or give another --state-dir", ErrStateDir, err, s.dir)
}
