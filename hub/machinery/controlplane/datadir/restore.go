package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

// ErrHoldsData says that a directory already belongs to a control plane.
var ErrHoldsData = errors.New("data directory is not empty")

// OpenUnlocked returns a directory for reading that another process may have locked. It creates nothing.
func OpenUnlocked(path string) (*Dir, error) {
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolving data directory %q: %w", path, err)
	}
	return &Dir{root: root}, nil
}

// Root is the directory itself.
func (d *Dir) Root() string { return d.root }

// restoringMark is a file that exists during a restore, and after one that was interrupted.
func (d *Dir) restoringMark() string { return filepath.Join(d.root, "restoring") }

// OpenForRestore is Open for a directory that is empty, or has the remains of an interrupted restore; otherwise it
// returns ErrHoldsData. No control plane starts on the directory until Restored.
func OpenForRestore(path string) (*Dir, error) {
	d, err := lockDir(path)
	if err != nil {
		return nil, err
	}
	if err := d.beginRestore(); err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

func (d *Dir) beginRestore() error {
	if d.isRestoring() {
		return d.clear()
	}
	found, err := d.firstContent()
	if err != nil {
		return err
	}
	if found != "" {
		return fmt.Errorf("%w: %q has %s of a hub: restore to another directory with --data-dir, or move this one away first",
			ErrHoldsData, d.root, found)
	}
	return atomicfile.Write(d.restoringMark(), []byte("A backup is being restored to this directory.\n"))
}

// Restored syncs everything to disk, and lets control planes start on the directory.
func (d *Dir) Restored() error {
	for _, dir := range []string{d.PKI(), d.Encryption(), d.Etcd(), d.root} {
		if err := atomicfile.SyncDir(dir); err != nil {
			return err
		}
	}
	if err := os.Remove(d.restoringMark()); err != nil {
		return fmt.Errorf("finishing the restore: %w", err)
	}
	return nil
}

// Clear removes what was restored so far.
func (d *Dir) Clear() error {
	if err := d.clear(); err != nil {
		return err
	}
	return os.Remove(d.restoringMark())
}

func (d *Dir) clear() error {
	for _, path := range []string{d.Etcd(), d.PKI(), d.Encryption(), d.portFile()} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("clearing what was restored: %w", err)
		}
	}
	return errors.Join(makePrivate(d.Etcd()), makePrivate(d.PKI()), makePrivate(d.Encryption()))
}

func (d *Dir) isRestoring() bool {
	_, err := os.Stat(d.restoringMark())
	return err == nil
}

// firstContent returns the name of something in the directory that belongs to a control plane; "" if there is nothing.
func (d *Dir) firstContent() (string, error) {
	for what, path := range map[string]string{"the database": d.Etcd(), "the keys": d.PKI(), "keys of encryption": d.Encryption()} {
		entries, err := os.ReadDir(path)
		if err != nil {
			return "", fmt.Errorf("looking into the data directory: %w", err)
		}
		if len(entries) > 0 {
			return what, nil
		}
	}
	if _, err := os.Stat(d.portFile()); !errors.Is(err, fs.ErrNotExist) {
		return "the port", nil
	}
	return "", nil
}

// IsAbandoned says whether a directory was opened once and is no longer locked.
func IsAbandoned(path string) bool {
	name := filepath.Join(path, lockName)
	if _, err := os.Lstat(name); err != nil {
		return false
	}
	lock, err := acquire(name)
	if err != nil {
		return false
	}
	_ = lock.Close()
	return true
}
