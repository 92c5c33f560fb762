package apiserver

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/atomicfile"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/filelock"
	"fairlead.dev/hub/machinery/apiserver/authority"
)

// exchangeLock is the lock file for changes of the authorities.
const exchangeLock = "ca.lock"

// Authorities are the files of an embedded API's certificate authorities, which only this process may change until
// Close. The API reads them at its start.
type Authorities struct {
	dir  string
	lock *os.File
}

// OpenAuthorities opens the authorities in a data directory.
func OpenAuthorities(dataDir string) (*Authorities, error) {
	a := &Authorities{dir: filepath.Join(dataDir, "pki")}
	info, err := os.Stat(a.certificates())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no certificate authority in %s: name the data directory of a hub on this machine with --data-dir; "+
			"a hub on an API of somebody else's has the authority of that", dataDir)
	} else if err != nil {
		return nil, fmt.Errorf("looking for the certificate authority: %w", err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("the keys in %s belong to user %d, who could not read what this one writes: run it as the user of the hub, for example with `sudo -u '#%d'`",
			dataDir, owner.Uid, owner.Uid)
	}
	if hasMark(dataDir) {
		return nil, errImporting(dataDir)
	}
	if a.lock, err = lockExchange(a.dir); err != nil {
		return nil, err
	}
	return a, nil
}

// lockExchange locks the authorities in a directory.
func lockExchange(dir string) (*os.File, error) {
	held, err := filelock.Take(filepath.Join(dir, exchangeLock))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("another `hub ca` is at work in %s; wait for its end", filepath.Dir(dir))
	}
	if err != nil {
		return nil, unwritableError(filepath.Dir(dir), err)
	}
	return held, nil
}

// Close releases the lock.
func (a *Authorities) Close() error { return a.lock.Close() }

func (a *Authorities) certificates() string { return filepath.Join(a.dir, "ca.crt") }
func (a *Authorities) keys() string         { return filepath.Join(a.dir, "ca.key") }

// Read returns the authorities.
func (a *Authorities) Read() (authority.Bundle, error) {
	data, err := os.ReadFile(a.certificates())
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authorities: %w", err)
	}
	return authority.Parse(data)
}

// Take takes a step. The keys of all certificates are always present, and the file with the certificates is replaced
// atomically, so an interrupted step was either taken or not.
func (a *Authorities) Take(step authority.Step, before authority.Bundle, now time.Time) (authority.Bundle, error) {
	switch step {
	case authority.Begin:
		return a.begin(before, now)
	case authority.Switch:
		after := before.Reversed()
		return after, replace(a.certificates(), after.Encode())
	default:
		after := authority.Bundle{before.Signs()}
		if err := replace(a.certificates(), after.Encode()); err != nil {
			return nil, err
		}
		return after, a.DeleteUnusedKeys(after)
	}
}

func (a *Authorities) begin(before authority.Bundle, now time.Time) (authority.Bundle, error) {
	own, err := a.keyData()
	if err != nil {
		return nil, err
	}
	old, err := authority.KeyOf(before.Signs(), own)
	if err != nil {
		return nil, err
	}
	cert, key, err := authority.Make(before.Signs(), now)
	if err != nil {
		return nil, err
	}
	data, err := authority.EncodeKeys(old, key)
	if err != nil {
		return nil, err
	}
	if err := replace(a.keys(), data); err != nil {
		return nil, err
	}
	after := authority.Bundle{before.Signs(), cert}
	return after, replace(a.certificates(), after.Encode())
}

// DeleteUnusedKeys deletes keys without an authority: the key of a removed one remains dangerous to everybody who still
// trusts it.
func (a *Authorities) DeleteUnusedKeys(b authority.Bundle) error {
	own, err := a.keyData()
	if err != nil {
		return err
	}
	var kept []byte
	for _, cert := range b {
		key, err := authority.KeyOf(cert, own)
		if err != nil {
			return err
		}
		data, err := authority.EncodeKeys(key)
		if err != nil {
			return err
		}
		kept = append(kept, data...)
	}
	if string(kept) == string(own) {
		return nil
	}
	return replace(a.keys(), kept)
}

func (a *Authorities) keyData() ([]byte, error) {
	data, err := os.ReadFile(a.keys())
	if err != nil {
		return nil, fmt.Errorf("reading the keys of the certificate authorities: %w", err)
	}
	return data, nil
}

// replace writes a file with mode 0600 atomically.
func replace(path string, data []byte) error {
	if err := atomicfile.Write(path, data); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// ServedAuthorities returns the authorities that the hub publishes for agents.
func ServedAuthorities(ctx context.Context, hubClient client.Reader) (authority.Bundle, error) {
	info, err := GetClusterInfo(ctx, hubClient)
	if err != nil {
		return nil, err
	}
	return authority.Parse(info.CA)
}

// AgentAuthorities returns the authorities that agents report, without those of forgotten clusters, which need not be
// waited for.
func AgentAuthorities(ctx context.Context, hubClient client.Reader) ([]authority.Agent, error) {
	clusters := &clusterv1alpha1.ClusterList{}
	if err := hubClient.List(ctx, clusters); err != nil {
		return nil, fmt.Errorf("reading the clusters: %w", err)
	}
	leases := &coordinationv1.LeaseList{}
	if err := hubClient.List(ctx, leases, client.InNamespace(contract.ClusterNamespace)); err != nil {
		return nil, fmt.Errorf("reading the leases of the agents: %w", err)
	}
	told := make(map[string]map[string]string, len(leases.Items))
	for i := range leases.Items {
		told[leases.Items[i].Name] = leases.Items[i].Annotations
	}
	var agents []authority.Agent
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		if cluster.Annotations[contract.RetiredAnnotation] != "" {
			continue
		}
		said := told[cluster.Name]
		agent := authority.Agent{Cluster: cluster.Name, Issuer: said[contract.IssuerAnnotation]}
		if trusts := said[contract.TrustAnnotation]; trusts != "" {
			agent.Trusts = strings.Split(trusts, ",")
		}
		agents = append(agents, agent)
	}
	return agents, nil
}

// Describe returns the name and hash of an authority for people.
func Describe(cert *x509.Certificate) string {
	return fmt.Sprintf("%s (%s)", cert.Subject.CommonName, authority.Hash(cert))
}
