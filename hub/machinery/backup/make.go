package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/common/atomicfile"
	"fairlead.dev/hub/machinery/backup/retention"
)

// Database reads the database to back up.
type Database struct {
	// Take writes an unsealed backup.
	Take func(ctx context.Context, out io.Writer) error
	// Verify restores an unsealed backup to a temporary directory. It may stop reading at an error.
	Verify func(ctx context.Context, in io.Reader) (*Verified, error)
}

// Verified is the result of restoring a backup for verification.
type Verified struct {
	// Taken is when the backup was made, and Version is the version of its API.
	Taken   time.Time `json:"taken"`
	Version string    `json:"version"`
	// Objects is the number of objects in the database. Encrypted of them are encrypted with the hub's own keys, and
	// Foreign by Providers, whose keys the backup does not have.
	Objects   int      `json:"objects"`
	Encrypted int      `json:"encrypted"`
	Foreign   int      `json:"foreign"`
	Providers []string `json:"providers,omitempty"`
	// Size is the size of the file in bytes.
	Size int64 `json:"size,omitempty"`
}

// Maker makes backups.
type Maker struct {
	Database Database
	Seal     Recipients
}

// ToFile makes a backup in a file with mode 0600. The file gets its name once it is complete, on disk, and was restored
// to a scratch directory; until then its name starts with a dot and ends with .partial. An existing file is not
// overwritten.
func (m Maker) ToFile(ctx context.Context, path string) (_ *Verified, err error) {
	if _, err := os.Lstat(path); err == nil { //nolint:gosec // the operator names the path
		return nil, fmt.Errorf("%q exists: name another file, or move it away", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("writing the backup: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), retention.PartialPattern(filepath.Base(path))) // mode 0600
	if err != nil {
		return nil, fmt.Errorf("writing the backup: %w", err)
	}
	defer func() {
		_ = file.Close()
		if err != nil {
			_ = os.Remove(file.Name()) //nolint:gosec // the operator names the path
		}
	}()
	seal, keys := m.Seal, Keys(nil)
	if seal.IsSealed() {
		var key age.Identity
		if seal, key, err = seal.verificationKey(); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if err := m.take(ctx, seal, file); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, fmt.Errorf("writing the backup to disk: %w", err)
	}
	verified, err := m.verifyFile(ctx, file.Name(), keys)
	if err != nil {
		return nil, fmt.Errorf("the backup was made, and cannot be restored: %w", err)
	}
	if err := os.Rename(file.Name(), path); err != nil { //nolint:gosec // the operator names the path
		return nil, fmt.Errorf("naming the backup: %w", err)
	}
	if err := atomicfile.SyncDirectory(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("writing the name of the backup to disk: %w", err)
	}
	return verified, nil
}

// take writes a complete sealed backup.
func (m Maker) take(ctx context.Context, seal Recipients, out io.Writer) error {
	sealing, err := seal.write(out)
	if err != nil {
		return err
	}
	if err := m.takeTo(ctx, sealing); err != nil {
		return err
	}
	if err := sealing.Close(); err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	return nil
}

func (m Maker) takeTo(ctx context.Context, out io.Writer) error {
	w := &writer{out: out}
	err := m.Database.Take(ctx, w)
	if w.err != nil {
		return w.err // the program's own error only says that its output was closed
	}
	return err
}

// writer records why writing failed.
type writer struct {
	out io.Writer
	err error
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("writing the backup: %w", err)
	}
	return n, err
}

func (m Maker) verifyFile(ctx context.Context, path string, keys Keys) (*Verified, error) {
	file, err := os.Open(path) //nolint:gosec // the operator's own file
	if err != nil {
		return nil, fmt.Errorf("reading the backup: %w", err)
	}
	defer func() { _ = file.Close() }()
	return m.Verify(ctx, file, keys)
}

// Verify opens a backup, sealed or not, and restores it to a scratch directory.
func (m Maker) Verify(ctx context.Context, in io.Reader, keys Keys) (*Verified, error) {
	counted := &counter{in: in}
	var verified *Verified
	err := WithOpened(counted, keys, func(opened io.Reader) (err error) {
		verified, err = m.Database.Verify(ctx, opened)
		return err
	})
	if err != nil {
		return nil, err
	}
	verified.Size = counted.read
	return verified, nil
}

// WithOpened calls do with the content of a backup, and checks all of it even if do reads less. If the backup is
// damaged, it returns that error regardless of the result of do.
func WithOpened(in io.Reader, keys Keys, do func(opened io.Reader) error) error {
	opened, err := Open(in, keys)
	if err != nil {
		return err
	}
	err = do(opened)
	if err == nil {
		_, err = io.Copy(io.Discard, opened)
	}
	if u, ok := opened.(*unsealed); ok && u.err != nil {
		return u.err
	}
	return err
}

// counter counts the bytes that are read.
type counter struct {
	in   io.Reader
	read int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.read += int64(n)
	return n, err
}

// ToStream makes a backup on a stream that cannot be read back, so the backup is verified on the way, before it is
// sealed. After an error, what was written is useless.
func (m Maker) ToStream(ctx context.Context, out io.Writer) (verified *Verified, err error) {
	sealing, err := m.Seal.write(out)
	if err != nil {
		return nil, err
	}
	read, write := io.Pipe()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		verified, err = m.Database.Verify(ctx, read)
		if err == nil {
			_, err = io.Copy(io.Discard, read)
		}
		_ = read.CloseWithError(err) // never fails
		return err
	})
	g.Go(func() error {
		err := m.takeTo(ctx, io.MultiWriter(sealing, write))
		_ = write.CloseWithError(err) // never fails
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := sealing.Close(); err != nil {
		return nil, fmt.Errorf("writing the backup: %w", err)
	}
	return verified, nil
}
