package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

// begun is a file that is there while a new database is made. An etcd that is killed after it made its files, and before it noted in them that it
// is its own only member, waits for a majority for ever when it is started again. It is beside these files, so that it says nothing of another
// database, on a disk that is mounted there later.
func (d *Dir) begun() string { return filepath.Join(d.Etcd(), "begun") }

// BeginDatabase notes that a new database is about to be made, into which nobody writes before EndBeginning.
func (d *Dir) BeginDatabase() error { return atomicfile.Write(d.begun(), nil) }

// EndBeginning notes that the new database answers, and holds what is written into it from now on.
func (d *Dir) EndBeginning() error {
	if err := os.Remove(d.begun()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("noting that the database is made: %w", err)
	}
	return atomicfile.SyncDir(d.Etcd())
}

// dropBegun removes a database that was never made to its end, and has nothing in it: it is made once more.
func (d *Dir) dropBegun() error {
	switch _, err := os.Stat(d.begun()); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("looking whether the database was made to its end: %w", err)
	}
	if err := os.RemoveAll(filepath.Join(d.Etcd(), "member")); err != nil {
		return fmt.Errorf("removing a database that was not made to its end: %w", err)
	}
	if err := atomicfile.SyncDir(d.Etcd()); err != nil {
		return err
	}
	return d.EndBeginning() // one that is restored to this directory is not new
}
