package peers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrAuthority says that a hub has another authority than the others on its etcd.
var ErrAuthority = errors.New("this hub goes by another authority than its etcd")

// ErrEmpty says that the etcd is empty although the hub has used one before.
var ErrEmpty = errors.New("this etcd has nothing of a hub, and this hub has used one before")

// Authority identifies a hub's keys by their hashes.
type Authority struct {
	// Trusted are the certificate authorities; the first one signs.
	Trusted []string `json:"trusted"`
	// FrontProxy is the front-proxy authority.
	FrontProxy string `json:"frontProxy"`
	// ServiceAccount is the key that signs service account tokens.
	ServiceAccount string `json:"serviceAccount"`
	// Encryption are the keys that decrypt the database; the first one encrypts.
	Encryption []string `json:"encryption"`
}

// Record is the authority of the hubs on an etcd, as stored there.
type Record struct {
	Authority

	// Signed are the certificate authorities that have signed certificates for hubs of this etcd; empty in records of
	// earlier versions.
	Signed []string `json:"signed,omitempty"`
	// GivenUp are hashes from Signed that hubs of this etcd have dropped since. Earlier versions also recorded
	// authorities there that never signed.
	GivenUp []string `json:"givenUp,omitempty"`
}

// after returns the record after a hub with an authority has started. If the hub lacks an authority that has never
// signed, that is not a drop: it may be a new one that has not been copied everywhere yet.
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

// isSame says whether two records are equal.
func (r *Record) isSame(other Record) bool {
	return slices.Equal(r.Trusted, other.Trusted) && slices.Equal(r.Encryption, other.Encryption) &&
		slices.Equal(r.Signed, other.Signed) && slices.Equal(r.GivenUp, other.GivenUp)
}

// Known says whether the hub has an authority.
func (a Authority) Known() bool { return len(a.Trusted) > 0 }

// Peer is a running hub.
type Peer struct {
	// Host is its machine, and DataDir its data directory.
	Host    string `json:"host"`
	DataDir string `json:"dataDir"`
	// Authority is its authority.
	Authority Authority `json:"authority"`
	// HasFiles says that DataDir has some or all files of an authority, which `hub ca import` only replaces if told to.
	// It is only used by the hub itself.
	HasFiles bool `json:"-"`
	// Before is the etcd that this hub used before, for people; empty if it never ran. Note is the file that records
	// it. They are only used by the hub itself.
	Before string `json:"-"`
	Note   string `json:"-"`
}

// isSame says whether two are the same hub, such as its previous start.
func (p Peer) isSame(other Peer) bool { return p.Host == other.Host && p.DataDir == other.DataDir }

func (p Peer) String() string { return fmt.Sprintf("%s (%s)", p.Host, p.DataDir) }

// Found is the state of the hubs in an etcd.
type Found struct {
	// Recorded is the recorded authority; nil if no hub has used the etcd.
	Recorded *Record
	// Running are the running hubs.
	Running []Peer
	// Objects says that there are objects of a Kubernetes API, and Nodes that there are nodes, which a hub does not
	// have.
	Objects, Nodes bool
	// Installed is the stored value of an object that every hub creates; empty if there is none.
	Installed string
}

// isEmpty says whether there is neither a hub nor a cluster with nodes. Objects that every API server creates by
// itself, for instance one whose etcd is emptied while it runs, do not count.
func (f Found) isEmpty() bool { return f.Recorded == nil && f.Installed == "" && !f.Nodes }

// Decide returns an error if a hub may not start on an etcd.
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

// secretbox starts values that a hub encrypted; the name of the key and a colon follow.
const secretbox = "k8s:enc:secretbox:v1:"

// decideRestored returns an error if a hub may not take over the objects in an etcd without a record. If the hub's
// database was restored to another etcd, they are encrypted with its keys. Otherwise it would encrypt the objects of
// somebody else, who could no longer read them.
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

// encrypts says whether one of the keys encrypted a value, which starts with the key's name.
func (a Authority) encrypts(value string) bool {
	return slices.ContainsFunc(a.Encryption, func(key string) bool {
		name, _, _ := strings.Cut(key, " ")
		return strings.HasPrefix(value, name+":")
	})
}

// difference says which of another hub's keys this one would not accept; empty if none.
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

// importAdvice says how to copy the authority to a hub.
func importAdvice(hub Peer) string {
	replacing := ""
	if hub.Authority.Known() || hub.HasFiles {
		replacing = " --replace"
	}
	return fmt.Sprintf("On a machine that has it run `hub ca export FILE`, bring the file here, and run `hub ca import FILE --data-dir %s%s`", hub.DataDir, replacing)
}
