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
	"slices"
	"time"

	"fairlead.dev/hub/machinery/controlplane/database"
	"fairlead.dev/hub/machinery/controlplane/datadir"
)

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
	copied, err := takeSnapshot(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = copied.Close() }()

	all := contents{Format: format, Taken: s.Now.UTC(), Version: s.Version, SHA256: map[string]string{}}
	var size int64
	if all.SHA256[databaseName], size, err = checksum(copied); err != nil {
		return err
	}
	if _, err := copied.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading the snapshot: %w", err)
	}
	files := map[string][]byte{}
	for _, name := range small() {
		data, err := os.ReadFile(filepath.Join(dir.Root(), filepath.FromSlash(name)))
		if !slices.Contains(required(), name) && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading what is to be backed up: %w", err)
		}
		sum := sha256.Sum256(data)
		files[name], all.SHA256[name] = data, hex.EncodeToString(sum[:])
	}
	return all.write(out, files, copied, size)
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

// takeSnapshot returns the database as it is at one moment, in a file that has no name any more: whatever ends this
// process, nothing is left.
func takeSnapshot(ctx context.Context, dir *datadir.Dir) (*os.File, error) {
	client, err := database.Connect(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }()
	file, err := os.CreateTemp(dir.Run(), "backup-")
	if err != nil {
		return nil, fmt.Errorf("making a file for the snapshot: %w", err)
	}
	if err = os.Remove(file.Name()); err == nil {
		err = database.Copy(ctx, client, file)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
