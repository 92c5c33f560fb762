package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"k8s.io/utils/clock"
)

const (
	// sessionSeconds is how long a hub that was killed counts as one that runs.
	sessionSeconds = 30
	// sessionRetry is how soon a hub says again that it runs, after etcd forgot it.
	sessionRetry = time.Second
	// leaveTimeout is how long a hub that stops may take to say so.
	leaveTimeout = 3 * time.Second
)

// Etcd is where hubs find each other.
type Etcd struct {
	Client *clientv3.Client
	// Prefix is below what key they keep everything.
	Prefix string
}

// String says for people where it is.
func (e Etcd) String() string {
	return fmt.Sprintf("%s below %s", strings.Join(e.Client.Endpoints(), ","), e.Prefix)
}

func (e Etcd) authority() string { return e.Prefix + "/fairlead-hub/authority" }
func (e Etcd) running() string   { return e.Prefix + "/fairlead-hub/running/" }

// Read returns what there is of hubs.
func (e Etcd) Read(ctx context.Context) (Found, error) {
	found, _, err := e.read(ctx)
	return found, err
}

// read also returns of which revision the record of the authority is; 0 if there is none.
func (e Etcd) read(ctx context.Context) (found Found, revision int64, err error) {
	got, err := e.Client.Get(ctx, e.authority())
	if err != nil {
		return found, 0, fmt.Errorf("reading by what authority hubs of this etcd go: %w", err)
	}
	for _, kv := range got.Kvs {
		found.Recorded = &Record{}
		if err := json.Unmarshal(kv.Value, found.Recorded); err != nil {
			return found, 0, fmt.Errorf("%s in etcd is no record of a hub: %w; name another --etcd-prefix", e.authority(), err)
		}
		revision = kv.ModRevision
	}
	if got, err = e.Client.Get(ctx, e.running(), clientv3.WithPrefix()); err != nil {
		return found, 0, fmt.Errorf("reading which hubs of this etcd run: %w", err)
	}
	for _, kv := range got.Kvs {
		var other Peer
		if err := json.Unmarshal(kv.Value, &other); err != nil {
			return found, 0, fmt.Errorf("%s in etcd is no record of a hub: %w; name another --etcd-prefix", kv.Key, err)
		}
		found.Running = append(found.Running, other)
	}
	if err := e.lookAtObjects(ctx, &found); err != nil {
		return found, 0, fmt.Errorf("looking for objects in etcd: %w", err)
	}
	return found, revision, nil
}

// lookAtObjects fills in whose objects there are.
func (e Etcd) lookAtObjects(ctx context.Context, found *Found) error {
	// Everything of kube-apiserver sorts before or after the records.
	for _, span := range [][2]string{
		{e.Prefix + "/", e.Prefix + "/fairlead-hub/"},
		{clientv3.GetPrefixRangeEnd(e.Prefix + "/fairlead-hub/"), clientv3.GetPrefixRangeEnd(e.Prefix + "/")},
	} {
		some, err := e.Client.Get(ctx, span[0], clientv3.WithRange(span[1]), clientv3.WithLimit(1), clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		found.Objects = found.Objects || len(some.Kvs) > 0
	}
	nodes, err := e.Client.Get(ctx, e.Prefix+"/minions/", clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	found.Nodes = len(nodes.Kvs) > 0
	installed, err := e.Client.Get(ctx, e.Prefix+"/configmaps/kube-system/fairlead-installed")
	if err != nil {
		return err
	}
	for _, kv := range installed.Kvs {
		found.Installed = string(kv.Value)
	}
	return nil
}

// Entry is a hub's place among those of an etcd.
type Entry struct {
	etcd    Etcd
	hub     Peer
	clock   clock.Clock
	cancel  context.CancelFunc
	refused chan error
	kept    chan struct{}
	session atomic.Pointer[concurrency.Session]
}

// Refused tells why the hub may not go on: etcd forgot it, since it was away for too long, and hubs that have started meanwhile go by
// something else.
func (e *Entry) Refused() <-chan error { return e.refused }

// Leave says that the hub does not run any more. What it started must have ended.
func (e *Entry) Leave() {
	e.cancel()
	<-e.kept
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	_, _ = e.etcd.Client.Revoke(ctx, e.session.Load().Lease()) // else it ends by itself
}

// Enter checks once more that the hub may start, records its authority, and says that it runs, until the context ends or it leaves. Of two
// that start on a new etcd at the same time with an authority each, one is refused.
func (e Etcd) Enter(ctx context.Context, hub Peer, clk clock.Clock) (*Entry, error) {
	for {
		// First of all others see this one: of two that look at the same time, one at least sees the other.
		session, err := e.announce(ctx, hub)
		if err != nil {
			return nil, err
		}
		found, revision, err := e.read(ctx)
		if err == nil {
			err = Decide(hub, found)
		}
		recorded := false
		if err == nil {
			recorded, err = e.record(ctx, hub.Authority, found.Recorded, revision)
		}
		if err == nil && recorded {
			keeping, cancel := context.WithCancel(ctx)
			hub.Before = e.String() // from here on
			entry := &Entry{etcd: e, hub: hub, clock: clk, cancel: cancel, refused: make(chan error, 1), kept: make(chan struct{})}
			entry.session.Store(session)
			go entry.keepAnnounced(keeping)
			return entry, nil
		}
		_ = session.Close()
		if err != nil {
			return nil, err
		}
		// Another hub recorded its own first.
	}
}

// record notes the authority unless another did since the revision.
func (e Etcd) record(ctx context.Context, own Authority, recorded *Record, revision int64) (bool, error) {
	next := recorded.after(own)
	if recorded != nil && recorded.isSame(next) {
		return true, nil
	}
	data, err := json.Marshal(next)
	if err != nil {
		return false, fmt.Errorf("recording by what authority this hub goes: %w", err)
	}
	done, err := e.Client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(e.authority()), "=", revision)).
		Then(clientv3.OpPut(e.authority(), string(data))).Commit()
	if err != nil {
		return false, fmt.Errorf("recording by what authority this hub goes: %w", err)
	}
	return done.Succeeded, nil
}

// announce says that the hub runs, for as long as the session lasts.
func (e Etcd) announce(ctx context.Context, hub Peer) (*concurrency.Session, error) {
	session, err := concurrency.NewSession(e.Client, concurrency.WithTTL(sessionSeconds), concurrency.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("telling other hubs that this one runs: %w", err)
	}
	data, err := json.Marshal(hub)
	if err == nil {
		_, err = e.Client.Put(ctx, fmt.Sprintf("%s%x", e.running(), session.Lease()), string(data), clientv3.WithLease(session.Lease()))
	}
	if err != nil {
		_ = session.Close()
		return nil, fmt.Errorf("telling other hubs that this one runs: %w", err)
	}
	return session, nil
}

// keepAnnounced announces the hub again whenever etcd was away for longer than it remembers, and looks whether it may go on.
func (e *Entry) keepAnnounced(ctx context.Context) {
	defer close(e.kept)
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.session.Load().Done():
		}
		for {
			err := e.reannounce(ctx)
			if err == nil {
				break
			}
			if errors.Is(err, ErrAuthority) || errors.Is(err, ErrEmpty) {
				e.refused <- err
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-e.clock.After(sessionRetry):
			}
		}
	}
}

// reannounce announces the hub once more.
func (e *Entry) reannounce(ctx context.Context) error {
	session, err := e.etcd.announce(ctx, e.hub)
	if err != nil {
		return err
	}
	found, err := e.etcd.Read(ctx)
	if err == nil {
		err = Decide(e.hub, found)
	}
	if err != nil {
		_ = session.Close()
		return err
	}
	// An etcd that was without a majority remembers longer than it was told to.
	_, _ = e.etcd.Client.Revoke(ctx, e.session.Swap(session).Lease()) // else that entry ends by itself
	return nil
}
