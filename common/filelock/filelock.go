// Package filelock has one process alone hold a file or a directory. The kernel drops the lock when that process ends, however it ends.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrHeld says that another process holds a lock.
var ErrHeld = errors.New("held by another process")

// Take locks a file, which it makes where there is none, without waiting. Who closes the file gives the lock back.
func Take(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // It is the caller's own.
	if err != nil {
		return nil, err
	}
	if err := Hold(file); err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	return file, nil
}

// Hold locks an open file or directory until it is closed. It does not wait.
func Hold(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrHeld
	case err != nil:
		return fmt.Errorf("locking %q: %w", file.Name(), err)
	}
	return nil
}
