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
	// sessionSeconds is how long a killed hub still counts as running.
	sessionSeconds = 30
	// sessionRetry is the delay before a hub announces itself again after its session was lost.
	sessionRetry = time.Second
	// leaveTimeout bounds the removal of a stopping hub's announcement.
	leaveTimeout = 3 * time.Second
)

// Etcd is the etcd that hubs share.
type Etcd struct {
	Client *clientv3.Client
	// Prefix is their key prefix.
	Prefix string
}

// String describes the etcd for people.
func (e Etcd) String() string {
	return fmt.Sprintf("%s below %s", strings.Join(e.Client.Endpoints(), ","), e.Prefix)
}

func (e Etcd) authority() string { return e.Prefix + "/fairlead-hub/authority" }
func (e Etcd) running() string   { return e.Prefix + "/fairlead-hub/running/" }

// Read returns what the etcd has about hubs.
func (e Etcd) Read(ctx context.Context) (Found, error) {
	found, _, err := e.read(ctx)
	return found, err
}

// read also returns the revision of the authority's record; 0 if there is none.
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

// lookAtObjects determines whether there are objects, and whose.
func (e Etcd) lookAtObjects(ctx context.Context, found *Found) error {
	// All keys of kube-apiserver sort before or after the records of hubs.
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

// Entry is the announcement of a running hub.
type Entry struct {
	etcd    Etcd
	hub     Peer
	clock   clock.Clock
	cancel  context.CancelFunc
	refused chan error
	kept    chan struct{}
	session atomic.Pointer[concurrency.Session]
}

// Refused returns a channel that gets an error if the hub must stop: its session was lost for too long, and hubs with
// another authority have started since.
func (e *Entry) Refused() <-chan error { return e.refused }

// Leave removes the announcement. Everything that the hub started must have ended.
func (e *Entry) Leave() {
	e.cancel()
	<-e.kept
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	_, _ = e.etcd.Client.Revoke(ctx, e.session.Load().Lease()) // otherwise the session expires
}

// Enter checks again whether the hub may start, records its authority, and announces that it runs, until the context
// ends or it leaves. Of two hubs with different authorities that start on a new etcd at the same time, one is refused.
func (e Etcd) Enter(ctx context.Context, hub Peer, clk clock.Clock) (*Entry, error) {
	for {
		// Announce before reading: of two hubs that start at the same time, at least one sees the other.
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
			hub.Before = e.String() // valid from here on
			entry := &Entry{etcd: e, hub: hub, clock: clk, cancel: cancel, refused: make(chan error, 1), kept: make(chan struct{})}
			entry.session.Store(session)
			go entry.keepAnnounced(keeping)
			return entry, nil
		}
		_ = session.Close()
		if err != nil {
			return nil, err
		}
		// Another hub recorded its authority first.
	}
}

// record writes the record, unless it was changed since a revision.
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

// announce announces the hub for as long as the session lasts.
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

// keepAnnounced announces the hub again whenever its session was lost, and checks whether it may go on.
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

// reannounce announces the hub again.
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
	// An etcd without a majority may keep the old session for longer than its TTL.
	_, _ = e.etcd.Client.Revoke(ctx, e.session.Swap(session).Lease()) // otherwise the session expires
	return nil
}
