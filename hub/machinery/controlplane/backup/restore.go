package backup

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
	"fairlead.dev/hub/machinery/controlplane/database"
	"fairlead.dev/hub/machinery/controlplane/datadir"
)

// Restored describes what was restored.
type Restored struct {
	// Taken is when the backup was made.
	Taken time.Time
	// Version is the version of the program that made it.
	Version string
}

// Restore creates a data directory from a backup. Until it is complete and verified, no control plane starts on the
// directory; after an error the directory is as empty as before.
func Restore(ctx context.Context, in io.Reader, dataDir string) (*Restored, error) {
	dir, err := datadir.OpenForRestore(dataDir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	r, err := restore(ctx, in, dir)
	if err != nil {
		_ = dir.Clear() // if that fails, too, the mark stays
		return nil, err
	}
	return &Restored{Taken: r.Taken, Version: r.Version}, dir.Restored()
}

func restore(ctx context.Context, in io.Reader, dir *datadir.Dir) (*contents, error) {
	snapshotPath := filepath.Join(dir.Run(), databaseName)
	defer func() { _ = os.Remove(snapshotPath) }()
	all, err := unpack(ctx, in, dir, snapshotPath)
	if err != nil {
		return nil, err
	}
	return all, database.Restore(snapshotPath, dir.Etcd())
}

// unpack writes the snapshot to a path, and all other entries to their places.
func unpack(ctx context.Context, in io.Reader, dir *datadir.Dir, snapshotPath string) (*contents, error) {
	archive, err := newReader(in)
	if err != nil {
		return nil, err
	}
	for ctx.Err() == nil {
		name, size, err := archive.next()
		if err != nil {
			return nil, err
		}
		if name == "" {
			return &archive.contents, nil
		}
		if name == databaseName {
			// For the snapshot, and the database that is made from it.
			if err = datadir.CheckFreeSpace(dir.Root(), 2*size+datadir.NewDatabase); err == nil {
				err = archive.toFile(name, snapshotPath)
			}
		} else {
			err = archive.toDir(name, dir)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, ctx.Err()
}

func (r *reader) toFile(name, path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // the path is our own
	if err != nil {
		return fmt.Errorf("writing the snapshot: %w", err)
	}
	err = r.copy(name, file)
	if closing := file.Close(); err == nil {
		err = closing
	}
	return err
}

// toDir writes a small entry, if its name is a known one.
func (r *reader) toDir(name string, dir *datadir.Dir) error {
	if !slices.Contains(small(), name) {
		return fmt.Errorf("the backup holds %q, which this program does not know", name)
	}
	var data bytes.Buffer
	if err := r.copy(name, &data); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir.Root(), filepath.FromSlash(name)), data.Bytes())
}
