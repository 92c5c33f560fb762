package apiserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/wait"

	"fairlead.dev/common/filelock"
)

// Locks in the data directory.
const (
	// hubLock is held by the hub.
	hubLock = "hub.lock"
	// childLock is held by the embedded API.
	childLock = "lock"
)

// lock is a data directory that this hub holds alone until Close.
type lock struct{ file *os.File }

// acquire creates the data directory if needed, and locks it. If the embedded API of a killed hub is still stopping, it
// waits for its end.
func acquire(ctx context.Context, dir string) (*lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unwritableError(dir, err)
	}
	file, err := filelock.Take(filepath.Join(dir, hubLock))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("data directory %s is in use by another hub; stop that one, or choose another directory with --data-dir", dir)
	}
	if err != nil {
		return nil, unwritableError(dir, err)
	}
	if err := awaitOrphan(ctx, filepath.Join(dir, childLock)); err != nil {
		_ = file.Close()
		return nil, err
	}
	return &lock{file: file}, nil
}

// awaitOrphan waits, for a bounded time, until nobody holds the lock of the embedded API. After that, the embedded API
// itself reports the conflict.
func awaitOrphan(ctx context.Context, path string) error {
	err := wait.PollUntilContextTimeout(ctx, readyPoll, orphanTimeout, true, func(context.Context) (bool, error) {
		file, err := filelock.Take(path)
		if errors.Is(err, filelock.ErrHeld) {
			return false, nil
		}
		if err != nil {
			return false, unwritableError(filepath.Dir(path), err)
		}
		return true, file.Close()
	})
	if wait.Interrupted(err) {
		return ctx.Err()
	}
	return err
}

// Close releases the data directory.
func (l *lock) Close() error { return l.file.Close() }

func unwritableError(dir string, err error) error {
	return fmt.Errorf("data directory %s cannot be written: %w; choose another with --data-dir", dir, err)
}
