package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

// begun is a file that exists while a new database is being created. An etcd that is killed after it created its files,
// and before it recorded that it is its own only member, would wait for a majority forever when it is restarted. The
// mark is next to these files, so that it does not apply to another database on a disk that is mounted there later.
func (d *Dir) begun() string { return filepath.Join(d.Etcd(), "begun") }

// BeginDatabase records that a new database is about to be created. Nobody may write to it before EndBeginning.
func (d *Dir) BeginDatabase() error { return atomicfile.Write(d.begun(), nil) }

// EndBeginning records that the new database responds, and may be written to from now on.
func (d *Dir) EndBeginning() error {
	if err := os.Remove(d.begun()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("noting that the database is made: %w", err)
	}
	return atomicfile.SyncDir(d.Etcd())
}

// dropBegun removes an incompletely created database, which is empty, so that it is created again.
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
	return d.EndBeginning() // a database that is restored to this directory is not new
}
