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
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/datadir"
)

const dialTimeout = 10 * time.Second

// ErrNotRunning says that nobody serves the data directory.
var ErrNotRunning = errors.New("not running")

// Source is what is backed up.
type Source struct {
	// DataDir belongs to a control plane that is running.
	DataDir string
	// Version is that of this program.
	Version string
	// Now is the time.
	Now time.Time
}

// Take writes a backup. The working directory of the process becomes that of the components, for the sake of the short
// addresses of sockets.
func (s Source) Take(ctx context.Context, out io.Writer) error {
	dir, err := datadir.Look(s.DataDir)
	if err != nil {
		return err
	}
	switch _, err := os.Stat(filepath.Join(dir.Run(), args.EtcdSocket)); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: no hub runs on %q: start it, or, as long as it is stopped, copy the directory as it is", ErrNotRunning, s.DataDir)
	case err != nil:
		return fmt.Errorf("looking for the database: %w; run this as the user of the hub", err)
	}
	if err := os.Chdir(dir.Run()); err != nil {
		return fmt.Errorf("going to where the database is served: %w", err)
	}
	database, err := takeSnapshot(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = database.Close() }()

	all := contents{Format: format, Taken: s.Now.UTC(), Version: s.Version, SHA256: map[string]string{}}
	var size int64
	if all.SHA256[databaseName], size, err = checksum(database); err != nil {
		return err
	}
	if _, err := database.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading the snapshot: %w", err)
	}
	files := map[string][]byte{}
	for _, name := range append(secrets(), portName) {
		data, err := os.ReadFile(filepath.Join(dir.Root(), filepath.FromSlash(name)))
		if name == portName && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading what is to be backed up: %w", err)
		}
		sum := sha256.Sum256(data)
		files[name], all.SHA256[name] = data, hex.EncodeToString(sum[:])
	}
	return all.write(out, files, database, size)
}

func (c contents) write(out io.Writer, files map[string][]byte, database io.Reader, size int64) error {
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
	for _, name := range append(secrets(), portName) {
		if data, ok := files[name]; ok {
			if err := w.add(name, int64(len(data)), bytes.NewReader(data)); err != nil {
				return err
			}
		}
	}
	if err := w.add(databaseName, size, database); err != nil {
		return err
	}
	return w.close()
}

// takeSnapshot returns the database as it is at one moment, in a file that has no name any more: whatever ends this
// process, nothing is left.
func takeSnapshot(ctx context.Context, dir *datadir.Dir) (*os.File, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"unix://" + args.EtcdSocket}, DialTimeout: dialTimeout, Context: ctx, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to the database of %q: %w", dir.Root(), err)
	}
	defer func() { _ = client.Close() }()
	// A hub that was killed leaves the socket; without this question the snapshot would wait for ever.
	asking, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if _, err := client.Status(asking, client.Endpoints()[0]); err != nil {
		return nil, fmt.Errorf("%w: the database of %q does not answer: %w", ErrNotRunning, dir.Root(), err)
	}
	stream, err := client.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("taking a snapshot: %w", err)
	}
	defer func() { _ = stream.Close() }()
	file, err := os.CreateTemp(dir.Run(), "backup-")
	if err != nil {
		return nil, fmt.Errorf("making a file for the snapshot: %w", err)
	}
	err = os.Remove(file.Name())
	if err == nil {
		_, err = io.Copy(file, stream)
	}
	if err == nil {
		err = isWhole(file)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("taking a snapshot: %w", err)
	}
	return file, nil
}

// isWhole checks the sum with which etcd ends a snapshot, and goes back to the beginning.
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
