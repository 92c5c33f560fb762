package apiserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Locks in the data directory. The kernel drops them when their holder ends, however it
// ends.
const (
	// hubLock is held by the hub.
	hubLock = "hub.lock"
	// childLock is held by the embedded API.
	childLock = "lock"
)

// errHeld says that another process holds a lock.
var errHeld = errors.New("held by another process")

// lock is a data directory that this hub holds alone until Close.
type lock struct{ file *os.File }

// acquire makes the data directory where it does not exist and locks it. If the
// embedded API of a hub that was killed is still stopping, it waits for its end.
func acquire(ctx context.Context, dir string) (*lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unwritableError(dir, err)
	}
	file, err := flock(filepath.Join(dir, hubLock))
	if errors.Is(err, errHeld) {
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

// awaitOrphan waits, not for ever, until nobody holds the lock of the embedded API. If
// somebody still does, the embedded API itself will say so.
func awaitOrphan(ctx context.Context, path string) error {
	err := wait.PollUntilContextTimeout(ctx, readyPoll, orphanTimeout, true, func(context.Context) (bool, error) {
		file, err := flock(path)
		if errors.Is(err, errHeld) {
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

// Close gives the data directory back.
func (l *lock) Close() error { return l.file.Close() }

// flock takes a lock without waiting.
func flock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // a name of ours in the operator's directory
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errHeld
		}
		return nil, fmt.Errorf("locking %q: %w", path, err)
	}
	return file, nil
}

func unwritableError(dir string, err error) error {
	return fmt.Errorf("data directory %s cannot be written: %w; choose another with --data-dir", dir, err)
}
