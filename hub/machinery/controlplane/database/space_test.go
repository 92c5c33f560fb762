package database

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"fairlead.dev/hub/machinery/controlplane/datadir"
	"fairlead.dev/hub/machinery/controlplane/etcdtest"
)

// startFull returns an in-process etcd that is full of old revisions of one key, and a client of it.
func startFull(t *testing.T) (*clientv3.Client, *embed.Etcd) {
	t.Helper()
	dir := t.TempDir()
	server, client := etcdtest.Start(t, etcdtest.Options{Run: dir, Data: filepath.Join(dir, "etcd"), Quota: 16 << 20})
	var err error
	for err == nil {
		// Larger values would leave more empty pages into which none of them fits.
		_, err = client.Put(t.Context(), "key", strings.Repeat("value", 20_000))
	}
	if !errors.Is(err, rpctypes.ErrNoSpace) {
		t.Fatal(err)
	}
	return client, server
}

func TestEnoughIsEnough(t *testing.T) {
	t.Parallel()
	for size := int64(0); size <= 2000; size++ {
		s := Space{Size: size, Quota: 1000, Full: true}
		for s.InUse = 0; s.InUse <= size && s.InUse < s.Enough(); s.InUse++ {
			dropped := Space{Size: s.InUse, InUse: s.InUse, Quota: s.Quota}
			if !s.takesWrites() && (!s.shrinks() || !dropped.takesWrites()) {
				t.Fatalf("%+v would stay full", s)
			}
		}
	}
}

// makeRoom compacts all revisions but the current one.
func makeRoom(t *testing.T, client *clientv3.Client, hasRoom func(int64) error) (Space, error) {
	t.Helper()
	space, err := LookAtSpace(t.Context(), client, client.Endpoints()[0])
	if err != nil {
		t.Fatal(err)
	}
	return MakeRoom(t.Context(), client, space.Revision, hasRoom)
}

func TestOldRevisionsMakeRoom(t *testing.T) {
	client, _ := startFull(t)
	space, err := LookAtSpace(t.Context(), client, client.Endpoints()[0])
	if err != nil || !space.Full || !space.IsShort() || !space.IsFilling() || space.Quota != 16<<20 {
		t.Fatalf("got %+v, %v", space, err)
	}
	// Without free disk space the database stays full.
	noRoom := func(int64) error { return datadir.ErrDiskFull }
	if space, err = makeRoom(t, client, noRoom); !errors.Is(err, datadir.ErrDiskFull) || !space.Full {
		t.Fatalf("got %+v, %v", space, err)
	}
	if _, err := client.Put(t.Context(), "key", "value"); !errors.Is(err, rpctypes.ErrNoSpace) {
		t.Fatalf("got %v", err)
	}
	if space, err = makeRoom(t, client, func(int64) error { return nil }); err != nil || space.Full || space.IsShort() {
		t.Fatalf("got %+v, %v", space, err)
	}
	if _, err := client.Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
}

func TestDataInUseMakesNoRoom(t *testing.T) {
	client, _ := startFull(t)
	anyRoom := func(int64) error { return nil }
	space, err := makeRoom(t, client, anyRoom)
	for n := 0; err == nil && !space.Full; n++ {
		if _, full := client.Put(t.Context(), fmt.Sprintf("kept-%d", n), strings.Repeat("value", 100_000)); full != nil {
			space, err = makeRoom(t, client, anyRoom)
		}
	}
	if err != nil || !space.Full || !space.IsFilling() {
		t.Fatalf("got %+v, %v", space, err)
	}
	// Deletions are allowed while it is full, and make room.
	if _, err := client.Delete(t.Context(), "kept", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	if space, err = makeRoom(t, client, anyRoom); err != nil || space.Full {
		t.Fatalf("got %+v, %v", space, err)
	}
}

// On a busy machine a read transaction may still be open during the compaction.
func TestPagesThatWereReadMeanwhileAreCounted(t *testing.T) {
	client, server := startFull(t)
	space, err := LookAtSpace(t.Context(), client, client.Endpoints()[0])
	if err != nil {
		t.Fatal(err)
	}
	reads := server.Server.Backend().ConcurrentReadTx()
	_, err = client.Compact(t.Context(), space.Revision, clientv3.WithCompactPhysical())
	reads.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	if space, err = spaceAfterCompaction(t.Context(), client, client.Endpoints()[0]); err != nil || !space.shrinks() {
		t.Fatalf("got %+v, %v", space, err)
	}
}
