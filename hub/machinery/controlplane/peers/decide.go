package peers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrAuthority says that a hub goes by another authority than the others of its etcd.
var ErrAuthority = errors.New("this hub goes by another authority than its etcd")

// ErrEmpty says that a hub finds nothing where it has kept everything before.
var ErrEmpty = errors.New("this etcd has nothing of a hub, and this hub has used one before")

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

// Record is by what authority the hubs of an etcd go.
type Record struct {
	Authority

	// Signed are the certificate authorities of which hubs of this etcd have had their certificates; none in the record of an
	// earlier version.
	Signed []string `json:"signed,omitempty"`
	// GivenUp are hashes from Signed that hubs of this etcd have dropped since. An earlier version also recorded authorities there that never signed.
	GivenUp []string `json:"givenUp,omitempty"`
}

// after is the record once a hub with an authority has started. A hub that lacks one that has never signed drops nothing: it may be
// yet to come, and not everywhere yet.
func (r *Record) after(own Authority) Record {
	out := Record{Authority: own}
	if r != nil {
		out.Signed, out.GivenUp = r.signed(), r.givenUp(own)
	}
	if first := own.Trusted[0]; !slices.Contains(out.Signed, first) {
		out.Signed = append(out.Signed, first)
	}
	return out
}

// signed returns the hashes of the authorities that are known to have signed.
func (r *Record) signed() []string {
	if len(r.Signed) == 0 && r.Known() {
		return []string{r.Trusted[0]}
	}
	return slices.Clone(r.Signed)
}

// givenUp returns the hashes of the authorities that count as dropped once a hub with its own authority has started. A record of an earlier
// version does not tell which of its authorities have signed, so each one that this hub lacks counts as dropped, and one that is trusted
// again without having signed counts as new.
func (r *Record) givenUp(own Authority) []string {
	candidates := r.Signed
	if len(candidates) == 0 {
		candidates = r.Trusted
	}
	var out []string
	for _, gone := range r.GivenUp {
		if slices.Contains(r.signed(), gone) || !slices.Contains(own.Trusted[1:], gone) {
			out = append(out, gone)
		}
	}
	for _, known := range candidates {
		if !slices.Contains(own.Trusted, known) && !slices.Contains(out, known) {
			out = append(out, known)
		}
	}
	return out
}

// isSame says whether two records say the same.
func (r *Record) isSame(other Record) bool {
	return slices.Equal(r.Trusted, other.Trusted) && slices.Equal(r.Encryption, other.Encryption) &&
		slices.Equal(r.Signed, other.Signed) && slices.Equal(r.GivenUp, other.GivenUp)
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
	// HasFiles says that DataDir has files of an authority, all or some, which `hub ca import` only replaces if it is told to. It is
	// of use to this hub alone.
	HasFiles bool `json:"-"`
	// Before is where this hub kept everything when it ran last, for people; empty if it never ran. Note is the file that says so. They
	// are of use to this hub alone.
	Before string `json:"-"`
	Note   string `json:"-"`
}

// isSame says whether two are one hub, of which one is the last start.
func (p Peer) isSame(other Peer) bool { return p.Host == other.Host && p.DataDir == other.DataDir }

func (p Peer) String() string { return fmt.Sprintf("%s (%s)", p.Host, p.DataDir) }

// Found is the state of the hubs in an etcd.
type Found struct {
	// Recorded is the authority of the etcd; nil if no hub has used it.
	Recorded *Record
	// Running are the hubs that run.
	Running []Peer
	// Objects says that there are objects of a Kubernetes API, and Nodes that there are nodes: a hub has none.
	Objects, Nodes bool
	// Installed is how an object that every hub makes is kept there; empty if there is none.
	Installed string
}

// isEmpty says that there is nothing of a hub, nor of a cluster with nodes. What an API server writes by itself, as one does whose etcd is
// emptied below it, is nothing.
func (f Found) isEmpty() bool { return f.Recorded == nil && f.Installed == "" && !f.Nodes }

// Decide says why a hub may not start on an etcd, or nil.
func Decide(hub Peer, found Found) error {
	switch {
	case found.isEmpty() && hub.Before != "": // agents would meet a hub that knows none of them
		return fmt.Errorf("%w, at %s: if that is another place than the one of now, name it with --etcd-servers and --etcd-prefix; if that etcd was lost, restore it from a "+
			"snapshot or a backup (see manifests/install/machines.md); to begin a new hub, which every cluster has to join anew, remove %s and, if anything is below the prefix, "+
			"run `etcdctl del --prefix PREFIX/`, or name another --etcd-prefix", ErrEmpty, hub.Before, hub.Note)
	case found.Recorded == nil && !found.Objects:
		return nil
	case found.Recorded == nil && !hub.Authority.Known():
		return fmt.Errorf("%w: it has objects of a Kubernetes API, and no hub has used it: name another --etcd-prefix, or, if they are those of a hub that was restored, "+
			"bring that hub's authority here: %s", ErrAuthority, importAdvice(hub))
	case found.Recorded == nil:
		return decideRestored(hub, found)
	case !hub.Authority.Known() && hub.HasFiles:
		return fmt.Errorf("%w: hubs have used that etcd, and %s has only a part of an authority. %s", ErrAuthority, hub.DataDir, importAdvice(hub))
	case !hub.Authority.Known():
		return fmt.Errorf("%w: other hubs have used that etcd, and %s has no authority yet. %s", ErrAuthority, hub.DataDir, importAdvice(hub))
	}
	if slices.Contains(found.Recorded.GivenUp, hub.Authority.Trusted[0]) {
		return fmt.Errorf("%w: its certificates would be of authority %s, which was given up while it was away, and agents do not trust it any more. %s",
			ErrAuthority, hub.Authority.Trusted[0], importAdvice(hub))
	}
	if why := difference(hub.Authority, found.Recorded.Authority); why != "" {
		return fmt.Errorf("%w: %s. %s", ErrAuthority, why, importAdvice(hub))
	}
	for _, other := range found.Running {
		if hub.isSame(other) {
			continue
		}
		why := difference(hub.Authority, other.Authority)
		if why == "" && difference(other.Authority, hub.Authority) != "" {
			return fmt.Errorf("%w: the hub on %s, which runs, does not know what this one goes by. Stop it, bring what this one has there "+
				"(`hub ca export` here, `hub ca import --replace` there), and start both. One that was killed counts for half a minute", ErrAuthority, other)
		}
		if why != "" {
			return fmt.Errorf("%w: the hub on %s runs, and %s. %s", ErrAuthority, other, why, importAdvice(hub))
		}
	}
	return nil
}

// secretbox stands before what a hub encrypted; then come the name of the key and a colon.
const secretbox = "k8s:enc:secretbox:v1:"

// decideRestored says why a hub may not take over objects that are in an etcd without a record. Those of a hub whose database was brought to
// another etcd are encrypted with its keys. It would encrypt those of anybody else, who could not read them any more.
func decideRestored(hub Peer, found Found) error {
	switch sealed, isSealed := strings.CutPrefix(found.Installed, secretbox); {
	case found.Nodes:
		return fmt.Errorf("%w: it is that of a Kubernetes cluster with nodes, and a hub would encrypt what is in there: name an etcd for hubs, or another --etcd-prefix", ErrAuthority)
	case found.Installed == "":
		return fmt.Errorf("%w: it has objects of a Kubernetes API that is not that of a hub: name another --etcd-prefix", ErrAuthority)
	case isSealed && !hub.Authority.encrypts(sealed):
		name, _, _ := strings.Cut(sealed, ":")
		return fmt.Errorf("%w: the database is encrypted with key %s, which is not here. %s", ErrAuthority, name, importAdvice(hub))
	}
	return nil
}

// encrypts says whether one of the keys is that of a value, which begins with its name.
func (a Authority) encrypts(value string) bool {
	return slices.ContainsFunc(a.Encryption, func(key string) bool {
		name, _, _ := strings.Cut(key, " ")
		return strings.HasPrefix(value, name+":")
	})
}

// difference says what of another hub's work this one would not accept; empty if nothing.
func difference(own, other Authority) string {
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

// importAdvice says how to bring the authority to a hub.
func importAdvice(hub Peer) string {
	replacing := ""
	if hub.Authority.Known() || hub.HasFiles {
		replacing = " --replace"
	}
	return fmt.Sprintf("On a machine that has it run `hub ca export FILE`, bring the file here, and run `hub ca import FILE --data-dir %s%s`", hub.DataDir, replacing)
}
