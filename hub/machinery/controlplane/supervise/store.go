package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"k8s.io/utils/clock"

	"fairlead.dev/hub/machinery/controlplane/database"
	"fairlead.dev/hub/machinery/controlplane/datadir"
	"fairlead.dev/hub/machinery/controlplane/encryption"
	"fairlead.dev/hub/machinery/controlplane/peers"
	"fairlead.dev/hub/machinery/controlplane/pki"
)

const (
	// etcdTimeout bounds how long to wait for an external etcd: machines that lost power start at the same time.
	etcdTimeout = 30 * time.Second
	etcdRetry   = time.Second
)

// store is the database of a control plane: an embedded one, or, if client is not nil, an external one.
type store struct {
	Config

	// isNew says that the database has no objects yet.
	isNew  bool
	client *clientv3.Client
	hub    peers.Peer
	entry  *peers.Entry
	clock  clock.Clock
}

// openStore opens the database, or says why the control plane cannot use it. It makes no keys, since those of another hub may be needed.
func openStore(ctx context.Context, cfg Config, dir *datadir.Dir, clk clock.Clock, report Report) (*store, error) {
	s := &store{Config: cfg, clock: clk}
	var err error
	if !cfg.Etcd.Used() {
		if s.isNew, err = dir.IsNew(); err != nil {
			return nil, err
		}
		return s, checkComplete(dir, s.isNew)
	}
	if s.client, err = dial(ctx, cfg, clk, report); err != nil {
		return nil, err
	}
	(&spaceReclaimer{etcd: cfg.Etcd, client: s.client, report: report}).checkExternal(ctx) // nothing of what follows works if it is full
	found, err := s.etcd().Read(ctx)
	if err == nil {
		s.isNew = !found.Objects
		s.hub, err = peer(dir)
	}
	if err == nil {
		err = peers.Decide(s.hub, found)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// dial connects to the external etcd. While it waits it reports the reason.
func dial(ctx context.Context, cfg Config, clk clock.Clock, report Report) (*clientv3.Client, error) {
	until, said := clk.Now().Add(etcdTimeout), ""
	for {
		client, err := database.Dial(ctx, cfg.Etcd)
		if !errors.Is(err, database.ErrNoAnswer) || clk.Now().After(until) || ctx.Err() != nil {
			return client, err
		}
		if err.Error() != said {
			said = err.Error()
			report("waiting, up to %s: %s", etcdTimeout, said)
		}
		select {
		case <-ctx.Done():
		case <-clk.After(etcdRetry):
		}
	}
}

func (s *store) etcd() peers.Etcd { return peers.Etcd{Client: s.client, Prefix: s.Etcd.Prefix} }

// enter records this hub among the hubs of the etcd, with its present keys.
func (s *store) enter(ctx context.Context, dir *datadir.Dir) (err error) {
	if s.client == nil {
		return nil
	}
	if s.hub, err = peer(dir); err != nil {
		return err
	}
	// The etcd counts as used by this hub only once the hub is recorded, so a first start that is killed earlier starts over.
	if s.entry, err = s.etcd().Enter(ctx, s.hub, s.clock); err != nil {
		return err
	}
	return dir.UseExternal(s.Etcd)
}

// refused returns a channel that gets an error when other hubs do not let this one go on; nil for an embedded database.
func (s *store) refused() <-chan error {
	if s.entry == nil {
		return nil
	}
	return s.entry.Refused()
}

// close must be called after the end of everything that writes to the database.
func (s *store) close() {
	if s.entry != nil {
		s.entry.Leave()
	}
	if s.client != nil {
		_ = s.client.Close()
	}
}

// peer returns the description of this hub that other hubs of the etcd read.
func peer(dir *datadir.Dir) (peers.Peer, error) {
	hashes, err := pki.HashesOf(dir.PKI())
	if err != nil {
		return peers.Peer{}, err
	}
	keys, err := encryption.ReadKeys(dir.Encryption())
	if err != nil && !errors.Is(err, encryption.ErrNoKeys) {
		return peers.Peer{}, err
	}
	p := peers.Peer{Host: ownName(), DataDir: dir.Root(), HasFiles: len(keys) > 0, Authority: peers.Authority{
		Trusted: hashes.Trusted, FrontProxy: hashes.FrontProxy, ServiceAccount: hashes.ServiceAccount, Encryption: keys.Hashes(),
	}}
	before, err := dir.External()
	if err != nil {
		return peers.Peer{}, err
	}
	p.Note = dir.ExternalFile()
	if before.Used() {
		p.Before = fmt.Sprintf("%s below %s", strings.Join(before.Servers, ","), before.Prefix)
	}
	for _, name := range pki.Lasting() {
		if _, err := os.Stat(filepath.Join(dir.PKI(), name)); err == nil {
			p.HasFiles = true
		}
	}
	return p, nil
}
