package datadir

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrNoRoom says that a disk has too little room for what is to be written to it.
var ErrNoRoom = errors.New("there is too little room on the disk")

const (
	// NewDatabase is what etcd reserves for the log of writes of a database when it makes one.
	NewDatabase = 64 << 20
	// reserve is what stays for a database that serves from the same disk: without any room etcd ends, and with it the hub.
	reserve = 64 << 20
)

// HasRoom says with ErrNoRoom that the disk of a directory has no room for so many bytes, and for what a hub that runs there writes
// meanwhile. Who copies a database asks before, since a disk that is full fails others, too.
func HasRoom(path string, size int64) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(path, &disk); err != nil {
		return fmt.Errorf("looking how much room there is in %q: %w", path, err)
	}
	free := int64(disk.Bavail) * int64(disk.Bsize) //nolint:gosec,unconvert // the types differ between systems
	if need := size + reserve; need < size || free < need {
		return fmt.Errorf("%w of %q: it has %d MB, and %d MB are wanted: make room there", ErrNoRoom, path, free>>20, need>>20)
	}
	return nil
}
