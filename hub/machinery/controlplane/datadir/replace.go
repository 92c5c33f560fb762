package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

// Rebuilt is the directory in which a new database is created that will replace Etcd.
func (d *Dir) Rebuilt() string { return filepath.Join(d.root, "etcd.rebuilt") }

// replaced is the directory of the old database during the replacement.
func (d *Dir) replaced() string { return filepath.Join(d.root, "etcd.replaced") }

// IsNew says whether there is no database yet.
func (d *Dir) IsNew() (bool, error) {
	_, err := os.Stat(filepath.Join(d.Etcd(), "member"))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for the database: %w", err)
	}
	return false, nil
}

// Replace replaces Etcd with the complete database in Rebuilt, and removes the old one. Wherever it is interrupted, the
// next Open finds one of them in place.
func (d *Dir) Replace() error {
	if err := os.Rename(d.Etcd(), d.replaced()); err != nil {
		return fmt.Errorf("moving the old database away: %w", err)
	}
	return d.finishReplacing()
}

// finishReplacing completes an interrupted Replace. If the old database was moved away, the new one is complete.
func (d *Dir) finishReplacing() error {
	_, err := os.Stat(d.Etcd())
	_, errOld := os.Stat(d.replaced())
	if errors.Is(err, fs.ErrNotExist) && errOld == nil {
		if err := os.Rename(d.Rebuilt(), d.Etcd()); err != nil {
			return fmt.Errorf("putting the new database in the place of the old one: %w", err)
		}
		if err := atomicfile.SyncDir(d.root); err != nil {
			return err
		}
	}
	for _, path := range []string{d.Rebuilt(), d.replaced()} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing what is left of a database that was replaced: %w", err)
		}
	}
	return nil
}
