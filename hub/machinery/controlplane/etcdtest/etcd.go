// Package etcdtest starts an etcd in the process of a test.
package etcdtest

import (
	"net/url"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// Options are the settings of a test's etcd.
type Options struct {
	// Run becomes the working directory of the process until the test ends, since the address of a unix socket must be
	// short.
	Run string
	// Data is its data directory.
	Data string
	// Socket is the name of its client socket in Run; if empty, a new one is chosen.
	Socket string
	// Quota is the maximum size of its database in bytes; 0 is etcd's default.
	Quota int64
	// CommitsEach makes it commit each write at once, so that it is counted with the next one; otherwise it commits
	// every tenth of a second.
	CommitsEach bool
}

// How long etcd may take on a busy machine, and how often it is polled.
const (
	startTimeout = time.Minute
	startPoll    = 10 * time.Millisecond
)

// Start starts an etcd with one member, which ends with the test. It returns when etcd has finished its initial writes.
func Start(tb testing.TB, o Options) (*embed.Etcd, *clientv3.Client) {
	tb.Helper()
	tb.Chdir(o.Run)
	if o.Socket == "" {
		o.Socket = "client:0"
	}
	listen := func(name string) []url.URL { return []url.URL{{Scheme: "unix", Host: name}} }
	config := embed.NewConfig()
	config.Dir, config.LogLevel, config.UnsafeNoFsync, config.QuotaBackendBytes = o.Data, "fatal", true, o.Quota
	config.ListenClientUrls, config.AdvertiseClientUrls = listen(o.Socket), listen(o.Socket)
	config.ListenPeerUrls, config.AdvertisePeerUrls = listen("peer:0"), listen("peer:0")
	if o.CommitsEach {
		config.BackendBatchLimit = 1
	}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(server.Close)
	late := time.After(startTimeout)
	for server.Server.ClusterVersion() == nil || server.Server.StorageVersion() == nil { // these are written last
		select {
		case <-late:
			tb.Fatalf("etcd has not told its version after %s", startTimeout)
		case <-time.After(startPoll):
		}
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + o.Socket}, DialTimeout: startTimeout, Logger: zap.NewNop()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	return server, client
}
