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

	"fairlead.dev/agent/registration/discovery"
	"fairlead.dev/common/bootstrap"
)

// identity identifies the member and the hub of a state directory.
type identity struct {
	Cluster  string `json:"cluster"`
	Server   string `json:"server"`
	MemberID string `json:"memberID"`
	// Servers are the URLs of all hubs of the API, separated by commas; empty if there is only one.
	Servers string `json:"servers,omitempty"`
	// OnRetire says what happens to the objects in the member if the hub forgets it; empty is Keep.
	OnRetire string `json:"onRetire,omitempty"`
	// Pins are the hashes of the hub's authorities given to the join, separated by commas. A join with the same
	// hashes changes nothing, even if the hub has since announced other authorities.
	Pins string `json:"pins,omitempty"`
	// Left says that the member has left the hub, and that the rest of the directory is still to be removed.
	Left bool `json:"left,omitempty"`
}

// Values for what happens to the objects that a hub made in a member when the two part.
const (
	// Keep leaves the objects in the member.
	Keep = "keep"
	// Remove removes them.
	Remove = "remove"
)

func (s state) belongsTo(who *identity, cluster string) error {
	if cluster != "" && who.Cluster != cluster {
		return fmt.Errorf("%w: %q belongs to cluster %s, not to %s; give another --state-dir, or let that cluster leave first (`agent leave`)", ErrOtherCluster, s.dir, who.Cluster, cluster)
	}
	return nil
}

// identity returns the member that the directory belongs to; nil if it belongs to none yet.
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

// parseIdentity decodes the identity and validates the name of the cluster: the name becomes part of paths that are
// removed, and the file may come from a Secret that others in the member can write.
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

// isUnfinishedJoin returns whether the join of this directory never finished: it has no credentials, and no journal
// of an agent that ran.
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

// checkOwner returns an error if a cluster may not take over the directory of who, because that is another cluster whose join has finished.
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

// claim makes the directory that of a member, unless it belongs to another one. A member that has joined keeps the
// address of its hub until the join with another hub has succeeded (see finished), so that it can go back if that
// fails.
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
			// Otherwise both joins would share the key, and the rights of both.
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

// clear removes the credentials and the journal of an identity.
func (s state) clear(who *identity) error {
	if err := os.RemoveAll(s.path(filepath.Join(journalDir, who.Cluster))); err != nil {
		return s.unusable(err)
	}
	return s.remove(KubeconfigFile, keyFile, renewalKeyFile, retiredFile, refusedFile)
}

// setOnRetire changes what happens to the objects if the hub forgets the member; an empty onRetire changes nothing.
func (s state) setOnRetire(onRetire string) error {
	who, err := s.identity()
	if err != nil || who == nil || onRetire == "" || who.OnRetire == onRetire {
		return err
	}
	who.OnRetire = onRetire
	return s.writeJSON(identityFile, who)
}

// finished records the address and hashes with which the member joined. The addresses that the agent learned since
// are kept, unless the join was with another hub.
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

// adoptIdentity applies the changes from before to after, which another process made: a join that found the member
// joined already and only changed its settings.
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

// keepServers records the addresses of all hubs of the API.
func (s state) keepServers(all []string) error {
	who, err := s.identity()
	list := strings.Join(all, serversDivider)
	if err != nil || who == nil || who.Servers == list {
		return err
	}
	who.Servers = list
	return s.writeJSON(identityFile, who)
}
