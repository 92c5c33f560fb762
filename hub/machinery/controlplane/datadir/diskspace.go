package datadir

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrDiskFull says that a disk has too little free space for a write.
var ErrDiskFull = errors.New("there is too little room on the disk")

const (
	// NewDatabase is the number of bytes that etcd allocates for the write-ahead log of a new database.
	NewDatabase = 64 << 20
	// reserve is the number of bytes to leave free for a database that serves from the same disk: on a full disk etcd
	// ends, and the hub with it.
	reserve = 64 << 20
)

// CheckFreeSpace returns ErrDiskFull unless the disk of a directory has that many bytes free, in addition to a reserve
// for the hub that runs there. Copies of a database are made only after this check, since a full disk also affects
// other programs.
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
