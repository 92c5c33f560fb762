package database

import (
	"context"
	"fmt"
	"path/filepath"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.uber.org/zap"
)

// page is how many values are read at a time.
const page = 500

// CheckPages checks every page of a snapshot, like etcd's own check.
func CheckPages(snapshotPath string) error {
	if _, err := snapshot.NewV3(zap.NewNop()).Status(snapshotPath); err != nil {
		return fmt.Errorf("checking the database: %w", err)
	}
	return nil
}

// Stopped is the database in the files of a stopped etcd.
type Stopped struct {
	backend backend.Backend
	store   mvcc.WatchableKV
}

// OpenStopped opens the files that Restore created.
func OpenStopped(dir string) *Stopped {
	b := backend.NewDefaultBackend(zap.NewNop(), filepath.Join(dir, "member", "snap", "db"))
	return &Stopped{backend: b, store: mvcc.New(zap.NewNop(), b, &lease.FakeLessor{}, mvcc.StoreConfig{})}
}

// Close releases the files.
func (s *Stopped) Close() error {
	s.store.Close()
	return s.backend.Close()
}

// Count returns the number of keys with a prefix.
func (s *Stopped) Count(ctx context.Context, prefix string) (int, error) {
	got, err := s.store.Range(ctx, []byte(prefix), []byte(clientv3.GetPrefixRangeEnd(prefix)), mvcc.RangeOptions{Count: true})
	if err != nil {
		return 0, fmt.Errorf("counting what is in the database: %w", err)
	}
	return got.Count, nil
}

// Each calls yield for each key with a prefix, until that fails.
func (s *Stopped) Each(ctx context.Context, prefix string, yield func(key string, value []byte) error) error {
	end := []byte(clientv3.GetPrefixRangeEnd(prefix))
	for from := []byte(prefix); ctx.Err() == nil; {
		got, err := s.store.Range(ctx, from, end, mvcc.RangeOptions{Limit: page})
		if err != nil {
			return fmt.Errorf("reading the database: %w", err)
		}
		for i := range got.KVs {
			if err := yield(string(got.KVs[i].Key), got.KVs[i].Value); err != nil {
				return err
			}
		}
		if len(got.KVs) < page {
			return nil
		}
		from = append(got.KVs[len(got.KVs)-1].Key, 0)
	}
	return ctx.Err()
}
