package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/datadir"
)

const dialTimeout = 10 * time.Second

// ErrNotRunning says that no control plane serves the data directory.
var ErrNotRunning = errors.New("not running")

// Connect returns a client of the database that is served from a data directory, or of one member of the external
// database that it uses. It changes the working directory of the process to that of the components, since addresses of
// unix sockets must be short.
func Connect(ctx context.Context, dir *datadir.Dir) (*clientv3.Client, error) {
	external, err := dir.External()
	if err != nil {
		return nil, err
	}
	if external.Used() {
		return connectExternal(ctx, external, dir)
	}
	switch _, err := os.Stat(filepath.Join(dir.Run(), args.EtcdSocket)); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: no hub runs on %q: start it, or, as long as it is stopped, copy the directory as it is", ErrNotRunning, dir.Root())
	case err != nil:
		return nil, fmt.Errorf("looking for the database: %w; run this as the user of the hub", err)
	}
	if err := os.Chdir(dir.Run()); err != nil {
		return nil, fmt.Errorf("going to where the database is served: %w", err)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"unix://" + args.EtcdSocket}, DialTimeout: dialTimeout, Context: ctx, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to the database of %q: %w", dir.Root(), err)
	}
	// A killed hub leaves its socket behind; without this check requests would wait forever.
	asking, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if _, err := client.Status(asking, client.Endpoints()[0]); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("%w: the database of %q does not answer: %w", ErrNotRunning, dir.Root(), err)
	}
	return client, nil
}

// connectExternal returns a client of the first member of an external database that responds. It uses one member alone,
// since a snapshot is of that member. A linearizable response, which needs a majority, shows that the member has
// everything that was written before.
func connectExternal(ctx context.Context, e args.ExternalEtcd, dir *datadir.Dir) (*clientv3.Client, error) {
	if e.Prefix != args.DefaultEtcdPrefix {
		return nil, fmt.Errorf("%q keeps everything below %s of an etcd, and a backup is restored to one that has it below %s: back the etcd up with `etcdctl snapshot save`, and the keys of the hub with `hub ca export`",
			dir.Root(), e.Prefix, args.DefaultEtcdPrefix)
	}
	var failed error
	for _, server := range e.Servers {
		one := e
		one.Servers = []string{server}
		client, err := Dial(ctx, one)
		if err == nil {
			return client, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}
