package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

// ErrDiskFull says that a disk has too little room for what is to be written to it.
var ErrDiskFull = errors.New("there is too little room on the disk")

const (
	// NewDatabase is what etcd reserves for the log of writes of a database when it makes one.
	NewDatabase = 64 << 20
	// reserve is what stays for a database that serves from the same disk: without any room etcd ends, and with it the hub.
	reserve = 64 << 20
)

// CheckFreeSpace says with ErrNoRoom that the disk of a directory has no room for so many bytes, and for what a hub that runs there writes
// meanwhile. Who copies a database asks before, since a disk that is full fails others, too.
func CheckFreeSpace(path string, size int64) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(path, &disk); err != nil {
		return fmt.Errorf("looking how much room there is in %q: %w", path, err)
	}
	free := int64(disk.Bavail) * int64(disk.Bsize) //nolint:gosec,unconvert // the types differ between systems
	if need := size + reserve; need < size || free < need {
		return fmt.Errorf("%w of %q: it has %d MB, and %d MB are wanted: make room there", ErrDiskFull, path, free>>20, need>>20)
	}
	return nil
}

// ShrinkingMark is there while the file of the database is made smaller, and after a try that did not end.
func (d *Dir) ShrinkingMark() string { return filepath.Join(d.root, "shrinking") }

// IsShrinking says whether it is there.
func (d *Dir) IsShrinking() bool {
	_, err := os.Stat(d.ShrinkingMark())
	return err == nil
}

// BeginShrinking leaves the mark.
func (d *Dir) BeginShrinking() error {
	return atomicfile.Write(d.ShrinkingMark(), []byte("The file of the database is being made smaller.\n"))
}

// EndShrinking removes it, if it is there.
func (d *Dir) EndShrinking() error {
	if err := os.Remove(d.ShrinkingMark()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("noting that the file of the database was made smaller: %w", err)
	}
	return nil
}
