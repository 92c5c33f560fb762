package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Temporary begins the names of files that are being written. One that was left by a process
// that was killed may be removed.
const Temporary = ".new-"

// Write replaces a file by one that only its owner may read. When it returns, a loss of power
// does not undo it.
func Write(path string, content []byte) error {
	if err := Replace(path, content); err != nil {
		return err
	}
	return SyncDirectory(filepath.Dir(path))
}

// Replace does as Write, but until its directory is synced a loss of power may bring the old
// file back: for who writes many files in a row.
func Replace(path string, content []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), Temporary+"*") // readable by its owner only
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // the first error is the one to tell
		}
	}()
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// SyncDirectory has the names of the files in a directory outlast a loss of power.
func SyncDirectory(path string) error {
	directory, err := os.Open(path) //nolint:gosec // It is the caller's own.
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
