package registration

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"fairlead.dev/agent/registration/discovery"
	"fairlead.dev/common/atomicfile"
	"fairlead.dev/common/bootstrap"
)

// Files in the state directory.
const (
	// KubeconfigFile holds what the agent runs with.
	KubeconfigFile = "hub.kubeconfig"
	identityFile   = "agent.json"
	keyFile        = "agent.key"
	renewalKeyFile = "renewal.key"
	retiredFile    = "retired.json"
	refusedFile    = "refused.json"
	// journalDir has the journal of each cluster, in a directory of its name.
	journalDir = "journal"
)

const dirMode = 0o700

// identity says whose a state directory is.
type identity struct {
	Cluster  string `json:"cluster"`
	Server   string `json:"server"`
	MemberID string `json:"memberID"`
	// Servers are the URLs of all hubs of the API, with commas between; empty if there is one.
	Servers string `json:"servers,omitempty"`
	// OnRetire says what happens to the objects in the member if the hub forgets it; empty is Keep.
	OnRetire string `json:"onRetire,omitempty"`
	// Pins are the hashes with which it joined, with commas between. The same again ask for
	// nothing new, whomever the hub had it trust since.
	Pins string `json:"pins,omitempty"`
	// Left says that the member has left the hub, and that what is in the directory was to be removed.
	Left bool `json:"left,omitempty"`
}

// What becomes of what a hub had in a member when the two part.
const (
	// Keep leaves it where it is.
	Keep = "keep"
	// Remove removes it.
	Remove = "remove"
)

// state is a state directory.
type state struct{ dir string }

// Load returns what an agent needs to talk to the hub that it has joined, from its state
// directory. A directory of another cluster is refused; if cluster is empty, any will
// do.
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
		return nil, fmt.Errorf("%w: cluster %s has left its hub, and `agent leave` was stopped before all was gone from %q; run that again, or `agent join` to come back", ErrNotJoined, who.Cluster, stateDir)
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

func (s state) belongsTo(who *identity, cluster string) error {
	if cluster != "" && who.Cluster != cluster {
		return fmt.Errorf("%w: %q is that of cluster %s, not of %s; give another --state-dir, or leave with it first (`agent leave`)", ErrOtherCluster, s.dir, who.Cluster, cluster)
	}
	return nil
}

// identity returns whose the directory is; nil if it is nobody's yet.
func (s state) identity() (*identity, error) {
	raw, err := s.read(identityFile)
	if raw == nil || err != nil {
		return nil, err
	}
	who, err := parseIdentity(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %s in %q is damaged (%w); give another --state-dir", ErrStateDir, identityFile, s.dir, err)
	}
	return who, nil
}

// parseIdentity reads whose a state directory is. The name of the cluster is part of paths, which are removed, and a Secret in which the
// directory was kept is in the hands of the member.
func parseIdentity(raw []byte) (*identity, error) {
	who := &identity{}
	if err := json.Unmarshal(raw, who); err != nil {
		return nil, err //nolint:wrapcheck // the caller says what it was
	}
	if err := bootstrap.ValidateClusterName(who.Cluster); err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	return who, nil
}

// isUnfinishedJoin says whether the directory is that of a join that was begun and never finished: without credentials, and without the journal that an
// agent makes that runs.
func (s state) isUnfinishedJoin(who *identity) (bool, error) {
	raw, err := s.read(KubeconfigFile)
	if raw != nil || err != nil {
		return false, err
	}
	records, err := os.ReadDir(s.path(filepath.Join(journalDir, who.Cluster)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, s.unusable(err)
	}
	return len(records) == 0, nil
}

// checkOwner returns an error if a cluster may not have a directory that is somebody's: it is that of another one, which may have joined.
func (s state) checkOwner(who *identity, cluster string) error {
	other := s.belongsTo(who, cluster)
	if other == nil || who.Left {
		return nil
	}
	begun, err := s.isUnfinishedJoin(who)
	if err == nil && !begun {
		err = other
	}
	return err
}

// claim makes the directory that of a member, unless it is that of another one. A member that has joined stays that of its hub until the
// join with another one has succeeded (see finished): whoever tries in vain is to find its way back.
func (s state) claim(who identity) error {
	before, err := s.identity()
	if err != nil {
		return err
	}
	if before != nil {
		if err := s.checkOwner(before, who.Cluster); err != nil {
			return err
		}
		if before.Left || before.Cluster != who.Cluster {
			// With the key of another join the two would be one, and have the rights of both.
			if err := s.clear(before); err != nil {
				return err
			}
		} else {
			who.Pins = before.Pins
			raw, err := s.read(KubeconfigFile)
			if err != nil {
				return err
			}
			if raw != nil {
				who.Server, who.Servers = before.Server, before.Servers
			}
		}
		if before.Cluster == who.Cluster {
			who.OnRetire = cmp.Or(who.OnRetire, before.OnRetire)
		}
		if *before == who {
			return nil
		}
	}
	if err := os.MkdirAll(s.dir, dirMode); err != nil {
		return s.unusable(err)
	}
	return s.writeJSON(identityFile, who)
}

// clear removes what an identity had.
func (s state) clear(who *identity) error {
	if err := os.RemoveAll(s.path(filepath.Join(journalDir, who.Cluster))); err != nil {
		return s.unusable(err)
	}
	return s.remove(KubeconfigFile, keyFile, renewalKeyFile, retiredFile, refusedFile)
}

// setOnRetire says anew what becomes of the objects if the hub forgets the member; nothing new if
// it is empty.
func (s state) setOnRetire(onRetire string) error {
	who, err := s.identity()
	if err != nil || who == nil || onRetire == "" || who.OnRetire == onRetire {
		return err
	}
	who.OnRetire = onRetire
	return s.writeJSON(identityFile, who)
}

// finished notes with which address and hashes the member joined. What other addresses the agent learned are those of the hub that it has
// been at, anew if that is another one.
func (s state) finished(p discovery.Parameters, anew bool) error {
	who, err := s.identity()
	if err != nil || who == nil {
		return err
	}
	as := *who
	as.Server, as.Pins = p.Servers[0], strings.Join(p.Pins, ",")
	if who.Servers == "" || anew && !slices.Contains(p.Servers, who.Server) {
		as.Servers = p.Others()
	}
	if as == *who {
		return nil
	}
	return s.writeJSON(identityFile, as)
}

// adoptIdentity takes over what somebody else has made of an identity: what was said at a join that had nothing else to do.
func (s state) adoptIdentity(before, after identity) error {
	who, err := s.identity()
	if err != nil || who == nil || who.Cluster != after.Cluster {
		return err
	}
	adopted := *who
	if after.OnRetire != before.OnRetire {
		adopted.OnRetire = after.OnRetire
	}
	if after.Pins != before.Pins {
		adopted.Pins = after.Pins
	}
	if after.Server != before.Server {
		adopted.Server = after.Server
	}
	if adopted == *who {
		return nil
	}
	return s.writeJSON(identityFile, adopted)
}

// keepServers notes where the hubs are.
func (s state) keepServers(all []string) error {
	who, err := s.identity()
	list := strings.Join(all, serversDivider)
	if err != nil || who == nil || who.Servers == list {
		return err
	}
	who.Servers = list
	return s.writeJSON(identityFile, who)
}

func (s state) writeJSON(name string, value any) error {
	raw, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	return s.write(name, raw)
}

// remove removes files, if they are there.
func (s state) remove(names ...string) error {
	for _, name := range names {
		if err := os.Remove(s.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.unusable(err)
		}
	}
	return nil
}

func (s state) path(name string) string { return filepath.Join(s.dir, name) }

// read returns a file; nil if there is none.
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

// write replaces a file: whatever happens, it is the old one or the new one, and only
// its owner may read it. When it returns, it outlasts a loss of power: the hub is told so.
func (s state) write(name string, content []byte) error {
	if err := atomicfile.Write(s.path(name), content); err != nil {
		return s.unusable(err)
	}
	return nil
}

func (s state) unusable(err error) error {
	return fmt.Errorf("%w: %w; make %q writable for this user, or give another --state-dir", ErrStateDir, err, s.dir)
}
