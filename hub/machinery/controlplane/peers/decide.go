package peers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrAuthority says that a hub goes by another authority than the others of its etcd.
var ErrAuthority = errors.New("this hub goes by another authority than its etcd")

// Authority is by what a hub is known, as hashes.
type Authority struct {
	// Trusted are the certificate authorities; the first signs.
	Trusted []string `json:"trusted"`
	// FrontProxy is the authority of proxies in front of the API.
	FrontProxy string `json:"frontProxy"`
	// ServiceAccount is the key of the tokens of service accounts.
	ServiceAccount string `json:"serviceAccount"`
	// Encryption are the keys that decrypt the database; the first encrypts.
	Encryption []string `json:"encryption"`
}

// Known says whether there is an authority.
func (a Authority) Known() bool { return len(a.Trusted) > 0 }

// Peer is a hub that runs.
type Peer struct {
	// Host is its machine, DataDir where it keeps its keys.
	Host    string `json:"host"`
	DataDir string `json:"dataDir"`
	// Authority is by what it goes.
	Authority Authority `json:"authority"`
}

// isSame says whether two are one hub, of which one is the last start.
func (p Peer) isSame(other Peer) bool { return p.Host == other.Host && p.DataDir == other.DataDir }

func (p Peer) String() string { return fmt.Sprintf("%s (%s)", p.Host, p.DataDir) }

// Found is what an etcd has of hubs.
type Found struct {
	// Recorded is the authority of the etcd; nil if no hub has used it.
	Recorded *Authority
	// Running are the hubs that run.
	Running []Peer
	// Objects says that there are objects of a Kubernetes API.
	Objects bool
}

// Decide says why a hub may not start on an etcd, or nil.
func Decide(hub Peer, found Found) error {
	switch {
	case found.Recorded == nil && !found.Objects:
		return nil
	case found.Recorded == nil && !hub.Authority.Known():
		return fmt.Errorf("%w: it has objects of a Kubernetes API, and no hub has used it: name another --etcd-prefix, or, if they are those of a hub that was restored, "+
			"bring that hub's authority to %s with `hub ca import`", ErrAuthority, hub.DataDir)
	case found.Recorded == nil:
		return nil // a hub that was restored to another etcd
	case !hub.Authority.Known():
		return fmt.Errorf("%w: other hubs have used that etcd, and %s has no authority yet. %s", ErrAuthority, hub.DataDir, fetch(hub))
	}
	if why := compare(hub.Authority, *found.Recorded); why != "" {
		return fmt.Errorf("%w: %s. %s", ErrAuthority, why, fetch(hub))
	}
	for _, other := range found.Running {
		if hub.isSame(other) {
			continue
		}
		why := compare(hub.Authority, other.Authority)
		if why == "" && compare(other.Authority, hub.Authority) != "" {
			return fmt.Errorf("%w: the hub on %s, which runs, does not know what this one goes by. Stop it, start this one, bring what this one has there "+
				"(`hub ca export` here, `hub ca import --replace` there), and start it again", ErrAuthority, other)
		}
		if why != "" {
			return fmt.Errorf("%w: the hub on %s runs, and %s. %s", ErrAuthority, other, why, fetch(hub))
		}
	}
	return nil
}

// compare says what of another hub's work this one would not accept; empty if nothing.
func compare(own, other Authority) string {
	switch {
	case own.ServiceAccount != other.ServiceAccount:
		return "its key of service accounts is another"
	case own.FrontProxy != other.FrontProxy:
		return "its front-proxy authority is another"
	case len(other.Trusted) > 0 && !slices.Contains(own.Trusted, other.Trusted[0]):
		return fmt.Sprintf("its certificates are of authority %s, which is none of those here (%s)", other.Trusted[0], strings.Join(own.Trusted, ", "))
	case len(other.Encryption) > 0 && !slices.Contains(own.Encryption, other.Encryption[0]):
		return fmt.Sprintf("the database is encrypted with key %s, which is not here", other.Encryption[0])
	default:
		return ""
	}
}

// fetch says how to bring the authority to a hub.
func fetch(hub Peer) string {
	replacing := ""
	if hub.Authority.Known() {
		replacing = " --replace"
	}
	return fmt.Sprintf("On a machine that has it run `hub ca export FILE`, bring the file here, and run `hub ca import FILE --data-dir %s%s`", hub.DataDir, replacing)
}
