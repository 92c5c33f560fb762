package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"fairlead.dev/hub/machinery/controlplane/database"
	"fairlead.dev/hub/machinery/controlplane/datadir"
	"fairlead.dev/hub/machinery/controlplane/encryption"
)

// Source is the control plane to back up.
type Source struct {
	// DataDir is the data directory of a running control plane.
	DataDir string
	// Version is the version of this program.
	Version string
	// Now is the present time.
	Now time.Time
}

// Take writes a backup. It changes the working directory of the process to that of the components, since addresses of
// unix sockets must be short.
func (s Source) Take(ctx context.Context, out io.Writer) error {
	dir, err := datadir.OpenUnlocked(s.DataDir)
	if err != nil {
		return err
	}
	client, err := database.Connect(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	copied, files, err := takeBoth(
		func() (*os.File, error) { return takeSnapshot(ctx, client, dir) },
		func() (map[string][]byte, error) { return readFiles(dir) })
	if err != nil {
		return err
	}
	defer func() { _ = copied.Close() }()

	all := contents{Format: format, Taken: s.Now.UTC(), Version: s.Version, SHA256: map[string]string{}}
	if all.Providers, err = encryption.ForeignPrefixes(dir.Encryption()); err != nil {
		return err
	}
	var size int64
	if all.SHA256[databaseName], size, err = checksum(copied); err != nil {
		return err
	}
	if _, err := copied.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading the snapshot: %w", err)
	}
	for name, data := range files {
		sum := sha256.Sum256(data)
		all.SHA256[name] = hex.EncodeToString(sum[:])
	}
	return all.write(out, files, copied, size)
}

// attempts is how often a backup is repeated because keys were rotated in the meantime, which takes a person minutes.
const attempts = 5

// errExchanged says that keys changed during a snapshot.
var errExchanged = errors.New("the keys of the hub are being exchanged")

// takeBoth returns a snapshot, and the files that were valid during it. A hub that restarts in the meantime may encrypt
// the database with another key and drop the one that the snapshot needs, or let another authority sign.
func takeBoth(snapshot func() (*os.File, error), read func() (map[string][]byte, error)) (*os.File, map[string][]byte, error) {
	before, err := read()
	if err != nil {
		return nil, nil, err
	}
	for range attempts {
		copied, err := snapshot()
		if err != nil {
			return nil, nil, err
		}
		after, err := read()
		if err == nil && maps.EqualFunc(before, after, bytes.Equal) {
			return copied, after, nil
		}
		_ = copied.Close()
		if err != nil {
			return nil, nil, err
		}
		before = after
	}
	return nil, nil, fmt.Errorf("%w, and were others after each of %d snapshots: try again once that is over", errExchanged, attempts)
}

// readFiles returns the small entries that exist.
func readFiles(dir *datadir.Dir) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range small() {
		data, err := os.ReadFile(filepath.Join(dir.Root(), filepath.FromSlash(name)))
		if !slices.Contains(required(), name) && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading what is to be backed up: %w", err)
		}
		files[name] = data
	}
	return files, nil
}

func (c contents) write(out io.Writer, files map[string][]byte, copied io.Reader, size int64) error {
	head, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the contents: %w", err)
	}
	w, err := newWriter(out, c.Taken)
	if err != nil {
		return err
	}
	if err := w.add(contentsName, int64(len(head)), bytes.NewReader(head)); err != nil {
		return err
	}
	for _, name := range small() {
		if data, ok := files[name]; ok {
			if err := w.add(name, int64(len(data)), bytes.NewReader(data)); err != nil {
				return err
			}
		}
	}
	if err := w.add(databaseName, size, copied); err != nil {
		return err
	}
	return w.close()
}

// takeSnapshot returns a snapshot of the database in a file that is already unlinked, so that nothing is left however
// this process ends.
func takeSnapshot(ctx context.Context, client *clientv3.Client, dir *datadir.Dir) (*os.File, error) {
	file, err := os.CreateTemp(dir.Run(), "backup-")
	if err != nil {
		return nil, fmt.Errorf("making a file for the snapshot: %w", err)
	}
	if err = os.Remove(file.Name()); err == nil {
		err = hasRoom(ctx, client, dir)
	}
	if err == nil {
		err = database.Copy(ctx, client, file)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// hasRoom returns an error if there is no space for a copy of the database.
func hasRoom(ctx context.Context, client *clientv3.Client, dir *datadir.Dir) error {
	status, err := client.Status(ctx, client.Endpoints()[0])
	if err != nil {
		return fmt.Errorf("asking the database for its size: %w", err)
	}
	return datadir.CheckFreeSpace(dir.Run(), status.DbSize)
}
