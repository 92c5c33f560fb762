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
	// etcdTimeout is how long an etcd of somebody else's may take to serve: machines that lost their power start together.
	etcdTimeout = 30 * time.Second
	etcdRetry   = time.Second
)

// store is the database of a control plane: one of its own, or with a client one of somebody else's.
type store struct {
	Config

	// isNew says that it has nothing yet.
	isNew  bool
	client *clientv3.Client
	hub    peers.Peer
	entry  *peers.Entry
	clock  clock.Clock
}

// openStore finds out what there is, and says why the control plane cannot use it. No key is made yet: those of another hub may be
// wanted.
func openStore(ctx context.Context, cfg Config, dir *datadir.Dir, clk clock.Clock, report Report) (*store, error) {
	s := &store{Config: cfg, clock: clk}
	var err error
	if !cfg.Etcd.Used() {
		if s.isNew, err = dir.IsNew(); err != nil {
			return nil, err
		}
		return s, lost(dir, s.isNew)
	}
	if s.client, err = dial(ctx, cfg, clk, report); err != nil {
		return nil, err
	}
	(&room{etcd: cfg.Etcd, client: s.client, report: report}).lookAtExternal(ctx) // nothing of what follows works if it is full
	found, err := s.etcd().Look(ctx)
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

// dial waits for the etcd, and says for what it waits.
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

// enter takes the place of this hub among those of the etcd, with the keys that there are by now.
func (s *store) enter(ctx context.Context, dir *datadir.Dir) (err error) {
	if s.client == nil {
		return nil
	}
	if s.hub, err = peer(dir); err != nil {
		return err
	}
	// Not until this hub is entered there is it one that has used the etcd, so a first start that is killed before begins anew.
	if s.entry, err = s.etcd().Enter(ctx, s.hub, s.clock); err != nil {
		return err
	}
	return dir.UseExternal(s.Etcd)
}

// refused tells why other hubs do not let this one go on.
func (s *store) refused() <-chan error {
	if s.entry == nil {
		return nil
	}
	return s.entry.Refused()
}

// close must come after the end of all that writes to the database.
func (s *store) close() {
	if s.entry != nil {
		s.entry.Leave()
	}
	if s.client != nil {
		_ = s.client.Close()
	}
}

// peer is what other hubs are told of this one.
func peer(dir *datadir.Dir) (peers.Peer, error) {
	hashes, err := pki.Look(dir.PKI())
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
