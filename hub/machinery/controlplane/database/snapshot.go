package database

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"fairlead.dev/hub/machinery/controlplane/args"
)

// revisionBump is far more than the revisions that a hub uses between two backups; a revision has 63 bits.
const revisionBump = 1_000_000_000

// Copy writes a snapshot of the database to an empty file, checks it, and seeks to the start of the file.
func Copy(ctx context.Context, client *clientv3.Client, file *os.File) error {
	stream, err := client.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("taking a snapshot: %w", err)
	}
	defer func() { _ = stream.Close() }()
	_, err = io.Copy(file, stream)
	if grpcstatus.Code(err) == codes.PermissionDenied {
		return fmt.Errorf("taking a snapshot: the user that --etcd-certfile names may not: etcd gives snapshots to users with the role root only (%w)", err)
	}
	if err == nil {
		err = isWhole(file)
	}
	if err != nil {
		return fmt.Errorf("taking a snapshot: %w", err)
	}
	return nil
}

// isWhole checks the checksum at the end of etcd's snapshot, and seeks to the start.
func isWhole(file *os.File) error {
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if end <= sha256.Size {
		return errors.New("the database sent nothing")
	}
	want := make([]byte, sha256.Size)
	if _, err := file.ReadAt(want, end-sha256.Size); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, end-sha256.Size)); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return errors.New("the snapshot does not have the checksum that the database sent with it")
	}
	_, err = file.Seek(0, io.SeekStart)
	return err
}

// Restore creates the files of an etcd from a snapshot that is older than what clients have seen: it continues at a far
// higher revision, and marks all earlier ones as compacted.
func Restore(snapshotPath, dir string) error { return restore(snapshotPath, dir, revisionBump) }

// Rebuild creates the files of an etcd from a snapshot of its present state, and keeps the revisions.
func Rebuild(snapshotPath, dir string) error { return restore(snapshotPath, dir, 0) }

func restore(snapshotPath, dir string, bump uint64) error {
	etcd := args.EtcdMember()
	err := snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: snapshotPath, OutputDataDir: dir,
		Name: etcd.Name, PeerURLs: []string{etcd.PeerURL}, InitialCluster: etcd.Name + "=" + etcd.PeerURL, InitialClusterToken: etcd.Token,
		RevisionBump: bump, MarkCompacted: bump > 0,
	})
	if err != nil {
		return fmt.Errorf("restoring the database: %w", err)
	}
	return nil
}
